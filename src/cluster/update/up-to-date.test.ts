import { expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import { absent } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cluster, withArrival } from "#kit/snapshots/cluster.ts";
import { THEIRS, withMember } from "#kit/snapshots/cluster-changes.ts";
import {
  madeFrom,
  NEWER,
  NEXT_MINOR,
  OLD,
  ON_DELETE,
  wanting,
  withCanary,
  withoutPod,
  withPod,
  withStop,
  withTurn,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { switching } from "#kit/snapshots/cluster-switch.ts";
import {
  bundle,
  goingTo,
  listedBy,
  OWN,
  running,
  THEIRS as SOMEBODY,
  secured,
  withMade,
  withSeen,
} from "#kit/snapshots/cluster-tls.ts";
import { upToDate } from "./up-to-date.ts";

const ALL = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const settled = cluster();
const turning = withTurn(withUpdated(wanting(NEWER), "my-etcd-1", "my-etcd-2"), "my-etcd-0");
const onDelete = wanting(NEWER, { spec: ON_DELETE });
const UNKNOWN_FLAG = { etcd: { extraArgs: { "max-txn-op": "1" } } };

const THEIR_PEER = { peer: { provider: "Secret", secret: { secretName: "their-peer" } } };
const THEIR_CLIENT = {
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};
const BY_THEM = { by: SOMEBODY, isOurs: false };

const cases: readonly {
  readonly name: string;
  readonly given: ClusterSnapshot;
  readonly says: readonly [status: string, reason: Reason, words: string];
  /** Members that run the template of the spec. */
  readonly members?: readonly string[];
}[] = [
  {
    name: "the spec is unchanged",
    given: settled,
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "the spec has the same meaning in other words",
    given: wanting({ ...OLD, podTemplate: { metadata: {} } }),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "no member is updated yet",
    given: wanting(NEWER),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
    members: [],
  },
  {
    name: "one has a pending restart",
    given: turning,
    says: ["False", "Rolling", "2 of 3 members run what the spec asks for"],
    members: ["my-etcd-1", "my-etcd-2"],
  },
  {
    name: "all have restarted, and the last one is not fit yet",
    given: withUpdate(withCanary(withUpdated(wanting(NEWER), "my-etcd-0", "my-etcd-1"), "my-etcd-2")),
    says: ["False", "Rolling", "3 of 3 members run what the spec asks for; waiting for my-etcd-2"],
    members: ALL,
  },
  {
    name: "all are updated and fit",
    given: withUpdated(wanting(NEWER), ...ALL),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "a member is down without a change",
    given: withUpdated(wanting(NEWER, { down: ["my-etcd-2"] }), "my-etcd-0", "my-etcd-1"),
    says: ["False", "Rolling", "2 of 3 members run what the spec asks for; waiting for my-etcd-2"],
  },
  {
    name: "the update was stopped",
    given: withStop(wanting(NEWER), "my-etcd-2"),
    says: ["False", "UpdateStopped", "my-etcd-2 did not come up: it ended"],
    members: [],
  },
  {
    name: "people restart members, and have not begun",
    given: withTurn(withTurn(withUpdated(onDelete, "my-etcd-2"), "my-etcd-1"), "my-etcd-0"),
    says: [
      "False",
      "WaitsForDeletion",
      "1 of 3 members run what the spec asks for; my-etcd-0, my-etcd-1 get what the spec asks for when their pods are deleted",
    ],
    members: ["my-etcd-2"],
  },
  {
    name: "people have yet to restart the last one",
    given: withTurn(withUpdated(onDelete, "my-etcd-1", "my-etcd-2"), "my-etcd-0"),
    says: [
      "False",
      "WaitsForDeletion",
      "2 of 3 members run what the spec asks for; my-etcd-0 gets what the spec asks for when its pod is deleted",
    ],
  },
  {
    name: "there is one member",
    given: cluster({ replicas: 1 }),
    says: ["True", "UpToDate", "1 of 1 members run what the spec asks for"],
    members: ["my-etcd-0"],
  },
  {
    name: "with OnDelete, not all EtcdPeers have the template yet",
    given: withTurn(onDelete, "my-etcd-2"),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
  },
  {
    name: "it is paused during an update",
    given: { ...turning, cluster: { ...turning.cluster, spec: { ...turning.cluster.spec, paused: true } } },
    says: [
      "False",
      "Paused",
      "2 of 3 members run what the spec asks for; nothing is changed while spec.paused is true; my-etcd-0 has yet to restart, and drains may have to wait for it",
    ],
  },
  {
    name: "it is paused with nothing to do",
    given: cluster({ spec: { paused: true } }),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
  },
  {
    name: "the spec is refused",
    given: cluster({ spec: UNKNOWN_FLAG }),
    says: [
      "False",
      "SpecRefused",
      'spec.etcd.extraArgs: "max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?',
    ],
    members: [],
  },
  {
    name: "the spec has an invalid shape",
    given: cluster({ spec: { podTemplate: null as never } }),
    says: ["False", "SpecRefused", "spec.podTemplate is null; it must be an object"],
    members: [],
  },
  {
    name: "the downgrade is not enabled yet",
    given: cluster({ spec: { version: "3.5.35" } }),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
    members: [],
  },
  {
    name: "the release is not reachable",
    given: cluster({ spec: { version: "3.4.35" } }),
    says: [
      "False",
      "NoVersionPath",
      expect.stringMatching(/^spec\.version is refused: from 3\.6\.16 to 3\.4\.35 is a downgrade/),
    ],
    members: [],
  },
  {
    name: "the next minor is asked for",
    given: wanting(NEXT_MINOR),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
  },
  {
    name: "it is being created",
    given: cluster({ stage: "starting" }),
    says: ["False", "Forming", "the cluster is being created"],
  },
  {
    name: "it is being deleted",
    given: cluster({ deleting: true }),
    says: ["False", "Deleting", "the cluster is being deleted"],
  },
  {
    name: "pods are missing, terminating and without a revision",
    given: madeFrom(
      withPod(withoutPod(settled, "my-etcd-0"), "my-etcd-1", {
        metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" },
      }),
      "my-etcd-2",
      undefined,
    ),
    says: [
      "False",
      "Waiting",
      "my-etcd-0 has no pod; my-etcd-1 has a terminating pod; my-etcd-2 has a pod without a recorded template revision",
    ],
    members: [],
  },
  {
    name: "a joining member counts, too",
    given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "synced"),
    says: ["True", "UpToDate", "4 of 4 members run what the spec asks for"],
    members: [...ALL, "my-etcd-3"],
  },
  {
    name: "a member that was added by hand does not count",
    given: withMember(settled, THEIRS),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "the certificate for members is missing",
    given: goingTo(secured(), THEIR_PEER),
    says: changing(
      "tls.peer: members keep their certificates, since the requested ones cannot be used yet: Secret foo/their-peer, the peer certificate of members, is missing; create it, with tls.crt, tls.key and ca.crt",
    ),
    members: ALL,
  },
  {
    name: "clients do not know the new certificates yet",
    given: running(withMade(goingTo(secured(), THEIR_CLIENT), { server: BY_THEM, operator: BY_THEM })),
    says: changing(
      "tls.client: members trust the new CA, and clients are given time to trust it: ConfigMap my-etcd-ca has to list the new CA in ca.crt for 150 s",
    ),
    members: ALL,
  },
  {
    name: "members have the new certificate and still trust the old CA",
    given: oldStillTrusted(),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
  },
  {
    name: "members wait for missing certificates",
    given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), { peer: absent, server: absent }),
    says: changing(
      "tls.peer: members run without TLS until their certificates exist; tls.client: members run without TLS until their certificates exist",
    ),
  },
  {
    name: "a foreign member could not dial members over TLS",
    given: withMember(switching({}, ["both", "both", "both"], "2026-01-01T11:59:00Z"), THEIRS),
    says: changing("tls.peer: members keep http peer URLs until every member can dial over TLS"),
  },
  {
    name: "members return from TLS while a foreign one is listed with https",
    given: listedBy(switching({ peer: { provider: "None" } }, ["both", "both", "both"]), "https", ["my-etcd-1"]),
    says: changing("tls.peer: members keep their certificates until every peer URL is http"),
  },
  {
    name: "clients may still use both schemes",
    given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:59:00Z"),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
  },
];

function changing(words: string): [string, Reason, string] {
  const count = "3 of 3 members run what the spec asks for apart from TLS";
  return ["False", "CertificatesChanging", `${count}; ${words}`];
}

/** Clients get the new Secret, and NAME-client is signed by the previous CA. */
function oldStillTrusted(): ClusterSnapshot {
  const trust = bundle(OWN, SOMEBODY);
  const turned = withMade(goingTo(secured(), THEIR_CLIENT), { server: BY_THEM, operator: BY_THEM });
  const { tls } = turned.peers[0]!.spec;
  const client = { secretName: "their-server", trust, verifyClients: true };
  return running(turned, undefined, { ...tls!, client });
}

function statusOf(given: ClusterSnapshot) {
  return clusterStatus(given, planCluster(given));
}

for (const { name, given, says, members } of cases) {
  test(`up to date: ${name}`, () => {
    const { conditions, members: told } = statusOf(given);
    const { status, reason, message } = conditions!.find(({ type }) => type === "UpToDate")!;
    expect([status, reason, message]).toEqual(says);
    if (members !== undefined) expect(told!.filter((each) => each.upToDate).map((each) => each.name)).toEqual(members);
  });
}

test("up to date: no members is not all members", () => {
  expect(upToDate({ snapshot: settled, own: [] })).toMatchObject({ status: "False", reason: "Forming" });
});

test("up to date: ignores a member that was added by hand", () => {
  expect(statusOf(withMember(settled, THEIRS)).members!.at(-1)).not.toHaveProperty("upToDate");
});

test("up to date: has the observed generation, so that a client can wait for its edit", () => {
  const edited = wanting(NEWER);
  const before = statusOf(settled);
  const live = { ...edited.cluster, metadata: { ...edited.cluster.metadata, generation: 2 }, status: before };
  const { observedGeneration, conditions } = statusOf({ ...edited, cluster: live });
  const told = (all = conditions) => all!.find(({ type }) => type === "UpToDate");
  expect(told(before.conditions)).toMatchObject({ status: "True", observedGeneration: 1 });
  expect(observedGeneration).toBe(2);
  expect(told()).toMatchObject({ status: "False", observedGeneration: 2 });
});
