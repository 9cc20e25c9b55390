import { expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { etcdUser } from "#kit/snapshots/access.ts";
import { calm, claim, claimIdentity, cluster, NOW } from "#kit/snapshots/cluster.ts";
import { withAuth } from "#kit/snapshots/cluster-auth.ts";
import { withAlarms } from "#kit/snapshots/cluster-changes.ts";
import { NEWER, wanting, withStop } from "#kit/snapshots/cluster-rolling.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { pictureOf, seenCluster, seenEvent, seenPod } from "#kit/snapshots/pictures.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import type { Values } from "../fields.ts";
import { type Line, render } from "../lines.ts";
import type { ClusterPicture } from "../picture.ts";
import { widthOf } from "../text.ts";
import { stateOf } from "../verdict.ts";
import { listScreen } from "./list.ts";
import { orphansIn, orphansScreen } from "./orphans.ts";
import { STATUS_LINES, STATUS_WIDTH, statusScreen } from "./status.ts";
import { type Versions, versionExitCode, versionScreen, versionsAsValue } from "./version.ts";
import { reportOf, whyScreen } from "./why.ts";

// The golden files show what a person sees. To write them again: `npm run test:unit -- src/plugin -u`.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const names = (count: number) => Array.from({ length: count }, (_, n) => `my-etcd-${n}`);

const users = [
  etcdUser({ status: { conditions: [condition("Ready", "True", "Bound")] } }),
  etcdUser({ name: "batch", status: { conditions: [condition("Ready", "False", "RoleMissing")] } }),
] as unknown as readonly Values[];

const nightly = etcdBackupSchedule({
  status: {
    nextScheduleTime: rfc3339(NOW + 15 * HOUR_MS),
    archive: {
      name: "nightly-archive",
      from: "1",
      since: rfc3339(NOW - 41 * DAY_MS),
      revision: "9",
      time: rfc3339(NOW - 6_000),
      gaps: 0,
    },
  },
}) as unknown as Values;

const backup = {
  lastSuccessful: { name: "nightly-1", creationTime: rfc3339(NOW - 9 * HOUR_MS) },
  lastVerified: { name: "nightly-1", creationTime: rfc3339(NOW - 9 * HOUR_MS) },
};

const steps = names(7).map((name, n) =>
  seenEvent("ReplaceLost", `${name} is replaced: its volume is gone ${"and so on ".repeat(20)}`, (n + 1) * HOUR_MS, {
    type: n % 2 === 0 ? "Warning" : "Normal",
    involvedObject: { kind: "EtcdPeer", name },
  }),
);

const large = calm(withAuth(secured({ replicas: 7, annotations: { "etcd.improbable.io/paused": "true" } })));

const PICTURES: Readonly<Record<string, ClusterPicture>> = {
  healthy: pictureOf(calm(cluster()), { events: present([seenEvent("Bootstrap", "3 members start", 40 * 60_000)]) }),
  seven: pictureOf(large, {
    cluster: seenCluster(large, { backup }),
    schedules: present([nightly]),
    users: present(users),
    events: present(steps),
  }),
  wide: pictureOf(calm(cluster()), {
    pods: present(names(3).map((name, n) => seenPod(name, `node-${n}`, `zone-${n}`))),
  }),
  "one-down": pictureOf(cluster({ down: ["my-etcd-1"] }), {
    events: present([
      seenEvent("AwaitHealth", "waiting for my-etcd-1 to be healthy again", 60_000, { type: "Warning" }),
    ]),
  }),
  "quorum-lost": pictureOf(cluster({ down: ["my-etcd-1", "my-etcd-2"] })),
  "no-space": pictureOf(withAlarms(cluster(), { type: "NOSPACE", id: "307c229e1fc2af4b" })),
  stopped: pictureOf(withStop(wanting(NEWER), "my-etcd-2")),
  new: pictureOf(cluster({ stage: "new" })),
  asleep: pictureOf(asleep()),
  refused: pictureOf(calm(cluster()), {
    schedules: unknown("etcdbackupschedules is forbidden"),
    users: unknown("etcdusers is forbidden"),
    events: unknown("events is forbidden"),
  }),
};

function condition(type: "Ready" | "ClusterIDMismatch", status: "True" | "False", reason: string) {
  return { type, status, reason, message: reason, observedGeneration: 1, lastTransitionTime: rfc3339(NOW) } as never;
}

function shown(lines: readonly Line[], width = STATUS_WIDTH): string {
  return render(lines, width, false);
}

test.each(Object.entries(PICTURES))("the screen of status: %s", async (name, picture) => {
  await expect(shown(statusScreen(picture))).toMatchFileSnapshot(`golden/status-${name}.txt`);
});

test.each(Object.entries(PICTURES))("the screen of why: %s", async (name, picture) => {
  await expect(shown(whyScreen(picture))).toMatchFileSnapshot(`golden/why-${name}.txt`);
});

test("the state of a cluster, which is the exit code", () => {
  const states = Object.entries(PICTURES).map(([name, picture]) => [name, stateOf(picture.cluster)]);
  expect(Object.fromEntries(states)).toEqual({
    healthy: "well",
    seven: "well",
    wide: "well",
    "one-down": "degraded",
    "quorum-lost": "not serving",
    "no-space": "not serving",
    stopped: "degraded",
    new: "not serving",
    asleep: "asleep",
    refused: "well",
  });
});

test("an edit that the operator has not read makes health uncertain, and hides no trouble", () => {
  const edited = (name: string) => {
    const { cluster: seen } = PICTURES[name]!;
    return stateOf({ ...seen, metadata: { ...(seen.metadata as object), generation: 99 } });
  };
  expect(["healthy", "asleep", "one-down", "quorum-lost"].map(edited)).toEqual([
    "cannot tell",
    "cannot tell",
    "degraded",
    "not serving",
  ]);
});

test("a sleeping cluster with other trouble is degraded", () => {
  const { cluster: seen } = PICTURES.asleep!;
  const status = seen.status as { conditions: readonly object[] };
  const conditions = [...status.conditions, condition("ClusterIDMismatch", "True", "X")];
  expect(stateOf({ ...seen, status: { ...status, conditions } })).toBe("degraded");
});

test("status names every kind that could not be read", () => {
  const some = { peers: unknown("no right to peers"), pods: unknown("no right to pods") };
  const text = shown(statusScreen(pictureOf(calm(cluster()), some)));
  expect(text).toContain("The peers of the cluster cannot be read: no right to peers\n");
  expect(text).toContain("The pods of its members cannot be read: no right to pods\n");
  const all = { ...some, schedules: unknown("x"), users: unknown("x"), events: unknown("x") };
  expect(shown(statusScreen(pictureOf(calm(cluster()), all)))).toContain(
    "Also unread: The schedules of the cluster, Its users, Its events; -o json has the reasons.\n",
  );
});

test("status of seven members fits 24 lines of 100 columns, with everything that it can show", () => {
  const sick = cluster({ replicas: 7, down: names(7).slice(1) });
  const amiss = pictureOf(sick, {
    cluster: seenCluster(sick, {
      backup,
      waivers: names(5).map((name) => ({ check: name, until: rfc3339(NOW + DAY_MS) })),
      quarantinedClaims: { count: 1_000 },
      update: { revision: "x", from: "3.6.16", to: "3.7.3", updated: [], proven: false, startTime: rfc3339(NOW) },
      conditions: ["Available", "Ready", "Degraded", "Stalled", "BackupReady", "TLSReady", "AuthReady"].map(
        (type, n) => {
          const status = type === "Degraded" || type === "Stalled" ? "True" : "False";
          return {
            type,
            status,
            reason: `Reason${n}`,
            message: "it is long ".repeat(100),
            lastTransitionTime: rfc3339(NOW),
          };
        },
      ) as never,
    }),
    peers: unknown("x ".repeat(500)),
    pods: unknown("x ".repeat(500)),
    schedules: unknown("x ".repeat(500)),
    users: unknown("x ".repeat(500)),
    events: unknown("x ".repeat(500)),
  });
  for (const picture of [...Object.values(PICTURES), amiss]) {
    const lines = shown(statusScreen(picture)).trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(STATUS_LINES);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(STATUS_WIDTH);
  }
});

test("list shows the worst cluster first", async () => {
  const clusters = Object.entries(PICTURES).map(([name, { cluster: each }]) => ({
    ...each,
    metadata: { ...(each.metadata as object), name },
  }));
  const options = { nowMs: NOW, hasNamespaces: true, isWide: false };
  await expect(shown(listScreen(clusters, options))).toMatchFileSnapshot("golden/list.txt");
  const wide = shown(listScreen(clusters, { ...options, hasNamespaces: false, isWide: true }), 160);
  await expect(wide).toMatchFileSnapshot("golden/list-wide.txt");
});

test("list --orphans shows claims of deleted clusters and quarantined claims, and no others", async () => {
  const claims = [
    labelled("my-etcd-0", "my-etcd"),
    labelled("gone-0", "gone"),
    labelled("coming-0", "coming", { labels: { "etcd.improbable.io/restored-from": "uid" } }),
    labelled("my-etcd-3", "my-etcd", {
      labels: { "etcd.improbable.io/quarantined": "true" },
      annotations: {
        "etcd.improbable.io/quarantine-reason": "replacement",
        "etcd.improbable.io/quarantined-at": rfc3339(NOW - DAY_MS),
      },
    }),
    claim("not-of-etcd") as unknown as Values,
  ];
  const orphans = orphansIn(claims, [cluster().cluster as unknown as Values]);
  await expect(shown(orphansScreen(orphans, NOW), 140)).toMatchFileSnapshot("golden/orphans.txt");
});

function labelled(name: string, of: string, more: { labels?: object; annotations?: object } = {}): Values {
  const made = claim(name, claimIdentity("73ddd4885bd797f5", "307c229e1fc2af4b"));
  const { metadata } = made;
  return {
    ...made,
    metadata: {
      ...metadata,
      creationTimestamp: rfc3339(NOW - 3 * DAY_MS),
      labels: { "etcd.improbable.io/cluster-name": of, ...more.labels },
      annotations: { ...metadata.annotations, ...more.annotations },
    },
    spec: { resources: { requests: { storage: "8Gi" } } },
  } as unknown as Values;
}

test("version warns of an operator of another minor release, and of kinds that are not served", async () => {
  const versions = {
    ...VERSIONS,
    operator: present([
      { namespace: "shop", image: "registry.example/etcd-cluster-operator:0.1.0" },
      { namespace: "etcd", image: "registry.example/etcd-cluster-operator:0.2.7" },
    ]),
    missingKinds: present(["etcdusers"]),
  };
  await expect(shown(versionScreen(versions))).toMatchFileSnapshot("golden/version.txt");
  expect(versionExitCode(versions)).toBe(1);
});

const VERSIONS: Versions = {
  plugin: "0.2.0",
  kubernetes: present("v1.36.3"),
  operator: present([]),
  served: present(["v1beta1", "v1alpha1"]),
  missingKinds: present([]),
};

test("version ends with 3 when a part could not be read, and its json keeps lists apart from reasons", () => {
  expect(versionExitCode(VERSIONS)).toBe(0);
  expect(versionExitCode({ ...VERSIONS, missingKinds: present(["etcdusers"]) })).toBe(1);
  const refused = { ...VERSIONS, operator: unknown("no right"), served: absent, missingKinds: present(["etcdusers"]) };
  expect(versionExitCode(refused)).toBe(3);
  expect(versionsAsValue(refused)).toMatchObject({ operator: null, served: null, unread: { operator: "no right" } });
});

/** Every text and key of the value replaced by one that a terminal would obey. */
function hostile(value: unknown): unknown {
  const evil = "\u001b[2J\u001b]0;x\u0007\r\n\u202e\u2066a\u0000\u009b31m界".repeat(2_000);
  if (typeof value === "string") return evil;
  if (Array.isArray(value))
    return [...value.map(hostile), ...Array.from({ length: 50 }, () => hostile({ name: "x", role: "x" }))];
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, hostile(each)]));
}

test("hostile texts and lists neither reach the terminal nor fill it", () => {
  const picture = hostile(PICTURES.seven) as ClusterPicture;
  const seen = { ...picture, nowMs: NOW, peers: PICTURES.seven!.peers } as ClusterPicture;
  const own = { ...seen, cluster: { ...seen.cluster, status: { ...(seen.cluster.status as object) } } };
  for (const parts of [
    own,
    { ...own, events: present(hostile(steps) as Values[]), users: present(hostile(users) as Values[]) },
  ]) {
    const status = shown(statusScreen(parts));
    const all = [
      status,
      shown(whyScreen(parts)),
      shown(listScreen([parts.cluster], { nowMs: NOW, hasNamespaces: true, isWide: true })),
    ];
    for (const text of all) {
      expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
      for (const line of text.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(STATUS_WIDTH);
    }
    expect(status.split("\n").length).toBeLessThan(40);
  }
});

test.each([
  null,
  1,
  "x",
  [],
  { status: 7 },
  { status: { members: [{ name: "x", role: "constructor" }] } },
  { metadata: [], spec: null, status: { members: [1, null, {}], conditions: "x" } },
])("an object of an unknown shape gives a screen: %j", (object) => {
  const picture = { ...PICTURES.healthy!, cluster: object as unknown as Values };
  expect(shown(statusScreen(picture))).toContain("cannot tell");
  expect(shown(whyScreen(picture))).toContain("cannot tell");
  expect(stateOf(picture.cluster)).toBe("cannot tell");
});

test("json has every object that was read, and why others were not", () => {
  expect(reportOf(PICTURES.refused!, 0)).toMatchObject({
    state: "well",
    exitCode: 0,
    users: null,
    unread: { users: "etcdusers is forbidden", events: "events is forbidden" },
  });
});
