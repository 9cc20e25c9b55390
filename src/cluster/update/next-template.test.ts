import { describe, expect, test } from "vitest";
import { CLIENT_TLS_VOLUME } from "#api/names.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { type KnownMember, memberNamed } from "#cluster/members/members.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster, unpublished, withArrival } from "#kit/snapshots/cluster.ts";
import { THEIRS, withMember, withoutClaims, withoutPeers, withStraggler } from "#kit/snapshots/cluster-changes.ts";
import {
  answering,
  BEFORE,
  downgrading,
  madeFrom,
  NEWER,
  NEXT_MINOR,
  NOT_READY,
  OLD,
  ON_DELETE,
  recording,
  refusing,
  saying,
  UNREADY_BESIDE,
  wanting,
  withCanary,
  withCrashing,
  withoutPod,
  withPeer,
  withPod,
  withRelease,
  withRunning,
  withStop,
  withTurn,
  withUpdate,
  withUpdated,
} from "#kit/snapshots/cluster-rolling.ts";
import { secured, tlsSpec } from "#kit/snapshots/cluster-tls.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { HAS } from "#kit/snapshots/scheme-change.ts";
import { canary } from "./canary.ts";
import { othersDown, restartBlocker } from "./fitness.ts";
import { mayNeedNewTemplate, nextTemplate, rollbackTemplates } from "./next-template.ts";
import { awaitsManualRestart, hasPendingRestart, isAboutToRestart, isTemplateReady } from "./pending-restart.ts";
import { isUpdated, stoppedUpdate, wantedRevision, wantedTemplate, whyRefused } from "./wanted-template.ts";

const settled = cluster();
const LIMITED = withResources({ limits: { cpu: "1" } });
const wanted = wanting(NEWER);
const going = { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } };

function memberIn(snapshot: ClusterSnapshot, name: string): KnownMember {
  return memberNamed(snapshot, name)!;
}

/** The container of a member that started without its data. */
const EMPTIED = {
  status: {
    containerStatuses: [
      {
        name: "etcd",
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { exitCode: 1, message: "couldn't find local name" } },
      },
    ],
  },
};

describe("the wanted template", () => {
  const cases: { name: string; given: ClusterSnapshot; version: string }[] = [
    { name: "has spec.version when all members can move to it", given: wanting(NEXT_MINOR), version: "3.7.1" },
    {
      name: "has the running release when there is no path to spec.version",
      given: cluster({ spec: { version: "3.4.1" } }),
      version: "3.6.16",
    },
    {
      name: "has the previous minor before its downgrade is enabled",
      given: cluster({ spec: { version: "3.5.35" } }),
      version: "3.5.35",
    },
    {
      name: "has the release of most EtcdPeers, even if a member reports another patch release",
      given: answering(cluster({ spec: { version: "3.4.1" } }), "3.6.1"),
      version: "3.6.16",
    },
    {
      name: "has a release in use when neither spec.version nor that of most EtcdPeers is reachable",
      given: ["my-etcd-0", "my-etcd-1"].reduce(
        (given, name) => withPeer(given, name, { spec: { version: "3.4.1" } }),
        answering(cluster({ spec: { version: "3.3.1" } }), "3.6.16", "3.6.16", "3.6.16"),
      ),
      version: "3.6.16",
    },
    {
      name: "has the release that most members run when there is no upgrade path",
      given: answering(cluster({ spec: { version: "3.3.1" } }), "3.3.1", "3.7.0", "3.7.0"),
      version: "3.7.0",
    },
  ];
  for (const { name, given, version } of cases) test(name, () => expect(wantedTemplate(given).version).toBe(version));

  test("has spec.podTemplate, also when spec.version is unreachable", () => {
    const podTemplate = withResources({ limits: { cpu: "1" } });
    expect(wantedTemplate(cluster({ spec: { version: "3.4.1", podTemplate } }))).toEqual({
      version: "3.6.16",
      podTemplate,
    });
  });
});

// A digest is the image of one release. With the digest of a release that members cannot run, and the version that they
// run, an image would start that no guard has judged.
describe("the image by digest", () => {
  const image = { repository: "registry.example/etcd", digest: `sha256:${"a".repeat(64)}` };
  const others = { repository: "registry.example/etcd", digest: `sha256:${"b".repeat(64)}` };
  const running = (given: ClusterSnapshot): ClusterSnapshot => ({
    ...given,
    peers: given.peers.map((peer) => ({ ...peer, spec: { ...peer.spec, image: others } })),
  });

  test("is used when members can move to spec.version", () => {
    expect(wantedTemplate(running(cluster({ spec: { version: NEWER.version, image } }))).image).toEqual(image);
  });

  test("stays that of the running release when members cannot move to spec.version", () => {
    const given = running(cluster({ spec: { version: "3.4.1", image } }));
    expect(wantedTemplate(given)).toMatchObject({ version: "3.6.16", image: others });
    const [peer] = given.peers;
    expect(nextTemplate(given, peer!)).toMatchObject({ version: "3.6.16", image: others });
  });
});

test("a rollback keeps the http peer URL of a member that cannot dial over TLS yet", () => {
  const tried = begin(wanting(NEWER, { replicas: 1 }))
    .apply(withCanary, "my-etcd-0")
    .apply(withStop, "my-etcd-0").snapshot;
  const given = withPeer(tried, "my-etcd-0", { spec: { previous: { ...OLD, tls: HAS.reached } } });
  const [first] = rollbackTemplates(given, peerNamed(given, "my-etcd-0")!);
  expect(first).toMatchObject({ version: "3.6.16", tls: { peer: { scheme: "http" } } });
});

describe("the next template of a member", () => {
  const stopped = begin(wanted).apply(withCanary, "my-etcd-2").apply(withStop, "my-etcd-2").snapshot;
  const cases: { name: string; given: ClusterSnapshot; of?: string; version: string }[] = [
    { name: "is the wanted template", given: wanted, version: "3.6.17" },
    { name: "is its own after the update was stopped", given: stopped, of: "my-etcd-1", version: "3.6.16" },
    { name: "is the previous template after the member failed", given: stopped, version: "3.6.16" },
    {
      name: "is its own for a member that became fit after the update was stopped",
      given: begin(wanted).apply(withUpdated, "my-etcd-2").apply(withStop, "my-etcd-2").snapshot,
      version: "3.6.17",
    },
    {
      name: "is that of a healthy member when the failed member has no previous template",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: undefined } }),
      version: "3.6.16",
    },
    {
      name: "is that of a healthy member with another template than the failed one",
      given: begin(stopped)
        .apply(withUpdated, "my-etcd-0")
        .apply(withPeer, "my-etcd-2", { spec: { previous: undefined } })
        .apply(withPeer, "my-etcd-1", { spec: { version: "3.6.15" } })
        .apply(madeFrom, "my-etcd-1", { ...OLD, version: "3.6.15" }).snapshot,
      version: "3.6.15",
    },
    {
      name: "is not the template of a pending restart of another member",
      given: begin(stopped)
        .apply(withPeer, "my-etcd-2", { spec: { previous: undefined } })
        .apply(withTurn, "my-etcd-0", {
          ...OLD,
          version: "3.6.15",
        }).snapshot,
      version: "3.6.16",
    },
    {
      name: "is the running template for a healthy member with a pending restart after a stop",
      given: withTurn(stopped, "my-etcd-1"),
      of: "my-etcd-1",
      version: "3.6.16",
    },
    {
      name: "is not that of an unhealthy member",
      given: begin(stopped)
        .apply(answering, undefined, "3.6.16")
        .apply(withPeer, "my-etcd-2", { spec: { previous: undefined } })
        .apply(withPeer, "my-etcd-0", { spec: { version: "3.6.15" } }).snapshot,
      version: "3.6.16",
    },
    {
      name: "is not a previous template with an unreachable release",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.5.35" } } }),
      version: "3.6.16",
    },
    {
      name: "is not a previous template older than the member's data, although a voter reports that minor",
      given: begin(stopped)
        .apply(answering, "3.5.35", "3.5.35")
        .apply(withPeer, "my-etcd-2", {
          spec: { previous: { ...OLD, version: "3.5.20" } },
        })
        .apply(withRelease, "my-etcd-2", "3.6.16").snapshot,
      version: "3.5.35",
    },
    {
      name: "is its own for a member that never ran, when spec.version is unreachable",
      given: begin(cluster({ spec: { version: "3.4.1" } }))
        .apply(withStraggler, { started: false })
        .apply(withoutPod, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", { spec: { version: "3.6.15" } }).snapshot,
      version: "3.6.15",
    },
    {
      name: "is its own when no other template is known to work",
      given: begin(wanting(NEWER, { replicas: 1 }))
        .apply(withCanary, "my-etcd-0")
        .apply(withStop, "my-etcd-0")
        .apply(withPeer, "my-etcd-0", {
          spec: { previous: undefined },
        }).snapshot,
      of: "my-etcd-0",
      version: "3.6.17",
    },
  ];
  for (const { name, given, of = "my-etcd-2", version } of cases)
    test(name, () => expect(nextTemplate(given, peerNamed(given, of)!).version).toBe(version));

  describe("during a downgrade by a minor", () => {
    const back = wanting(BEFORE);
    /** The canary does not run with this, and then an older minor with other limits is requested. */
    const stuck = (given: MemberTemplate) => {
      const asked = wanting({ ...BEFORE, podTemplate: LIMITED }, { down: ["my-etcd-2"] });
      return begin(asked)
        .apply(withTurn, "my-etcd-2", given)
        .apply(madeFrom, "my-etcd-2", given)
        .apply(withCrashing, "my-etcd-2").snapshot;
    };
    const cases: { name: string; given: ClusterSnapshot; of?: string; next: MemberTemplate }[] = [
      { name: "is its own until the downgrade is enabled", given: back, next: OLD },
      {
        name: "has no other changes until the downgrade is enabled",
        given: wanting({ ...BEFORE, podTemplate: LIMITED }),
        next: OLD,
      },
      {
        name: "has the other changes at once for a member that is down",
        given: begin(wanting({ ...BEFORE, podTemplate: LIMITED }, { down: ["my-etcd-2"] }))
          .apply(recording, "3.6.16", "3.6.16", "3.6.16")
          .apply(withCrashing, "my-etcd-2").snapshot,
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "has the other changes at once for a member without a pod",
        given: begin(wanting({ ...BEFORE, podTemplate: LIMITED }, { down: ["my-etcd-2"] }))
          .apply(recording, "3.6.16", "3.6.16", "3.6.16")
          .apply(withoutPod, "my-etcd-2").snapshot,
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "is the running template when the EtcdPeer has an older minor and no previous template",
        given: begin(back)
          .apply(withTurn, "my-etcd-2")
          .apply(withPeer, "my-etcd-2", { spec: { previous: undefined } }).snapshot,
        next: OLD,
      },
      {
        name: "is the running template when the downgrade was cancelled",
        given: withTurn(wanting({ ...BEFORE, podTemplate: LIMITED }), "my-etcd-2"),
        next: OLD,
      },
      {
        name: "is its own while data is in an older format",
        given: saying(wanting(NEXT_MINOR), "my-etcd-0", { storageVersion: "3.5.0" }),
        next: OLD,
      },
      {
        name: "cancels a pending restart with the previous minor while data is in an older format",
        given: begin(wanting(NEXT_MINOR))
          .apply(withTurn, "my-etcd-2", BEFORE)
          .apply(saying, "my-etcd-0", { storageVersion: "3.5.0" }).snapshot,
        next: OLD,
      },
      {
        name: "has all changes but the release for a member that is down while data is in an older format",
        given: begin(wanting({ ...NEXT_MINOR, podTemplate: LIMITED }, { down: ["my-etcd-2"] }))
          .apply(recording, "3.6.16", "3.6.16", "3.6.16")
          .apply(withCrashing, "my-etcd-2")
          .apply(saying, "my-etcd-0", { storageVersion: "3.5.0" }).snapshot,
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "has the release that the crashing member ran last",
        given: recording(stuck(NEWER), "3.6.16", "3.6.16", "3.6.16"),
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "has the release that the member ran last, not that of a previous template that never ran",
        given: begin(stuck(NEWER))
          .apply(withPeer, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } })
          .apply(recording, "3.6.16", "3.6.16", "3.6.16").snapshot,
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "keeps the release of the EtcdPeer when no template has the last reported patch release",
        given: recording(stuck(NEWER), "3.6.16", "3.6.16", "3.6.18"),
        next: { ...NEWER, podTemplate: LIMITED },
      },
      {
        name: "has the last reported patch release when the previous template has it",
        given: begin(stuck(NEWER))
          .apply(withPeer, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.18" } } })
          .apply(recording, "3.6.16", "3.6.16", "3.6.18").snapshot,
        next: { ...OLD, version: "3.6.18", podTemplate: LIMITED },
      },
      {
        name: "has the release that the member ran last when it is of another minor",
        given: begin(wanting(OLD, { down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] }))
          .apply(withTurn, "my-etcd-2", NEWER)
          .apply(recording, "3.6.16", "3.6.16", "3.7.1").snapshot,
        next: NEXT_MINOR,
      },
      {
        name: "keeps the release of the EtcdPeer when the member has run it",
        given: recording(stuck(NEWER), "3.6.16", "3.6.16", "3.6.17"),
        next: { ...NEWER, podTemplate: LIMITED },
      },
      {
        name: "is the wanted template once the data of the member is converted",
        given: downgrading(back, ["my-etcd-2"]),
        next: BEFORE,
      },
      {
        name: "stays the same when only the data of another member is converted",
        given: downgrading(back, ["my-etcd-1"]),
        next: OLD,
      },
      {
        name: "cancels a pending restart when the downgrade was cancelled",
        given: withTurn(back, "my-etcd-2"),
        next: OLD,
      },
      {
        name: "cancels a pending restart with a newer minor when an older minor is requested",
        given: { ...withTurn(wanting(NEXT_MINOR), "my-etcd-2"), cluster: back.cluster },
        next: OLD,
      },
      {
        name: "is its own while the restarted member does not answer",
        given: begin(back).apply(withCanary, "my-etcd-2").apply(recording, "3.6.16", "3.6.16", "3.6.16").snapshot,
        next: BEFORE,
      },
      {
        name: "is its own while etcd runs and does not answer",
        given: begin(back)
          .apply(withCanary, "my-etcd-2")
          .apply(recording, "3.6.16", "3.6.16", "3.6.16")
          .apply(withRunning, "my-etcd-2").snapshot,
        next: BEFORE,
      },
      {
        name: "is the previous template for a member that failed with the older minor",
        given: begin(back)
          .apply(withCanary, "my-etcd-2")
          .apply(withStop, "my-etcd-2")
          .apply(recording, "3.6.16", "3.6.16", "3.6.16").snapshot,
        next: OLD,
      },
      {
        name: "is the previous template after a failed minor upgrade while other members run the old minor",
        given: begin(wanting(NEXT_MINOR)).apply(withCanary, "my-etcd-2").apply(withStop, "my-etcd-2").snapshot,
        next: OLD,
      },
      {
        name: "keeps the new minor after a stop when the only member already runs it",
        given: begin(wanting(NEXT_MINOR, { replicas: 1 }))
          .apply(withUpdated, "my-etcd-0")
          .apply(withPod, "my-etcd-0", NOT_READY)
          .apply(withStop, "my-etcd-0").snapshot,
        of: "my-etcd-0",
        next: NEXT_MINOR,
      },
    ];
    for (const { name, given, of = "my-etcd-2", next } of cases)
      test(name, () => expect(nextTemplate(given, peerNamed(given, of)!)).toEqual(next));
  });

  describe("when the spec is refused during an update", () => {
    const half = withUpdated(wanting(NEXT_MINOR), "my-etcd-2");
    const editing = (spec: Partial<ClusterSnapshot["cluster"]["spec"]>): ClusterSnapshot => ({
      ...half,
      cluster: { ...half.cluster, spec: { ...half.cluster.spec, ...spec } },
    });
    const next = (given: ClusterSnapshot) => given.peers.map((peer) => nextTemplate(given, peer));

    test("each member keeps its release and gets the other changes", () => {
      const given = editing({ version: "3.9.0", podTemplate: LIMITED });
      expect(next(given)).toEqual([OLD, OLD, NEXT_MINOR].map((own) => ({ ...own, podTemplate: LIMITED })));
    });

    test("a pending restart with another release is cancelled, and the EtcdPeer gets the other changes", () => {
      const editedTo = (podTemplate: typeof LIMITED) => {
        const turned = withTurn(wanting(NEXT_MINOR, { replicas: 1 }), "my-etcd-0");
        const spec = { ...turned.cluster.spec, version: "3.9.0", podTemplate };
        return { ...turned, cluster: { ...turned.cluster, spec } };
      };
      expect(next(editedTo(OLD.podTemplate))).toEqual([OLD]);
      const limited = { ...OLD, podTemplate: LIMITED };
      expect(next(editedTo(LIMITED))).toEqual([limited]);
      // The pending restart is not cancelled a second time.
      expect(next(withTurn(editedTo(LIMITED), "my-etcd-0", limited, { previous: OLD }))).toEqual([limited]);
    });

    test("a member keeps its running release when it cannot move to the release in its EtcdPeer", () => {
      const EARLY = { ...OLD, version: "3.5.21" };
      const said = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((given, name) => {
        const running = begin(given)
          .apply(withPeer, name, { spec: { version: EARLY.version } })
          .apply(madeFrom, name, EARLY).snapshot;
        return saying(running, name, { version: EARLY.version });
      }, wanting(NEWER));
      const given = withTurn(said, "my-etcd-2", NEWER);
      expect(next(given)).toEqual([EARLY, EARLY, EARLY]);
      // The same for a member that is down.
      expect(next(withoutPod(given, "my-etcd-2")).at(-1)).toEqual(EARLY);
      // A member that runs a release unreachable for the others keeps it.
      const runs = begin(given)
        .apply(madeFrom, "my-etcd-2", NEWER)
        .apply(saying, "my-etcd-2", { version: NEWER.version }).snapshot;
      expect(next(runs).map(({ version }) => version)).toEqual(["3.5.21", "3.5.21", "3.6.17"]);
    });

    test("a member that never ran keeps its template", () => {
      const FAILED = { ...OLD, version: "3.6.99" };
      const straggler = withStraggler(cluster({ spec: { version: "3.9.0" } }), { started: false });
      const had = begin(straggler)
        .apply(withCrashing, "my-etcd-2")
        .apply(withPeer, "my-etcd-2", { spec: FAILED }).snapshot;
      const given = (version: string) =>
        begin(had)
          .apply(withTurn, "my-etcd-2", { ...OLD, version })
          .apply(madeFrom, "my-etcd-2", FAILED).snapshot;
      const of = (snapshot: ClusterSnapshot) => nextTemplate(snapshot, peerNamed(snapshot, "my-etcd-2")!);
      expect(of(given("3.6.17"))).toEqual(NEWER);
      // An unreachable release is replaced by that of the others.
      expect(of(given("3.4.1"))).toEqual(OLD);
      expect(of(withoutPod(given("3.4.1"), "my-etcd-2"))).toEqual(OLD);
      expect(of(refusing(given("3.6.17")))).toEqual(NEWER);
      // Its pod may still start with the old template.
      const starting = withPod(given("3.6.17"), "my-etcd-2", { status: { containerStatuses: [] } });
      const young = withPod(starting, "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T12:00:00Z" } });
      expect(of(young)).toEqual(FAILED);
    });

    test("each member keeps its template when the spec is refused", () => {
      expect(next(editing({ etcd: { extraArgs: { "max-txn-op": "1" } } }))).toEqual([OLD, OLD, NEXT_MINOR]);
    });

    test("reserved fields for TLS are refused when members have TLS", () => {
      const podTemplate = { spec: { volumes: [{ name: CLIENT_TLS_VOLUME, emptyDir: {} }] } };
      const none = tlsSpec({ peer: { provider: "None" }, client: { provider: "None" } });
      const [secure, without] = [secured(), cluster({ spec: { tls: none } })].map((snapshot) => ({
        ...snapshot,
        cluster: { ...snapshot.cluster, spec: { ...snapshot.cluster.spec, podTemplate } },
      }));
      expect(whyRefused(without!)).toEqual([]);
      expect(whyRefused(secure!)).toEqual([expect.stringContaining("this volume holds the member's certificates")]);
    });

    const of = (given: ClusterSnapshot) => nextTemplate(given, peerNamed(given, "my-etcd-2")!);

    test("a pending restart is cancelled and the previous template returns", () => {
      expect(of(begin(wanted).apply(withTurn, "my-etcd-2").apply(refusing).snapshot)).toEqual(OLD);
    });

    test("a pending restart stays when the previous template is not the one that runs", () => {
      expect(
        of(begin(wanted).apply(withTurn, "my-etcd-2", NEWER, { previous: BEFORE }).apply(refusing).snapshot),
      ).toEqual(NEWER);
    });

    const tried = withCanary(wanted, "my-etcd-2");

    test("the canary keeps its template and is still judged", () => {
      expect(of(refusing(tried))).toEqual(NEWER);
      expect(canary(refusing(tried))?.name).toBe("my-etcd-2");
    });

    test("the stop is recorded until the rolled-back member has restarted", () => {
      expect(of(begin(tried).apply(withStop, "my-etcd-2").apply(refusing).snapshot)).toEqual(OLD);
      const back = begin(tried).apply(withStop, "my-etcd-2").apply(withTurn, "my-etcd-2", OLD).apply(refusing).snapshot;
      expect(stoppedUpdate(back)).toBeDefined();
      expect(stoppedUpdate(madeFrom(back, "my-etcd-2", OLD))).toBeUndefined();
    });

    test("an update is over when no member has its template", () => {
      expect(wantedRevision(begin(wanted).apply(withUpdate).apply(refusing).snapshot)).toBe(revisionOf(OLD));
      expect(wantedRevision(refusing(tried))).toBe(revisionOf(NEWER));
      expect(
        wantedRevision(begin(wanted).apply(withUpdate).apply(withTurn, "my-etcd-2").apply(refusing).snapshot),
      ).toBe(revisionOf(NEWER));
    });

    test("each member keeps its own template when members have different ones", () => {
      const some = withUpdated(wanting({ ...OLD, podTemplate: LIMITED }), "my-etcd-2");
      const spec = { ...some.cluster.spec, etcd: { extraArgs: { "max-txn-op": "1" } } };
      const given = { ...some, cluster: { ...some.cluster, spec } };
      expect(next(given)).toEqual([OLD, OLD, { ...OLD, podTemplate: LIMITED }]);
    });
  });

  test("the template of an unhealthy member is not used for a rollback", () => {
    const others = ["my-etcd-0", "my-etcd-2"];
    const down = cluster({ down: ["my-etcd-1"], spec: NEWER });
    const tried = others.reduce(
      (given, name) => begin(given).apply(withPeer, name, { spec: NEWER }).apply(madeFrom, name, NEWER).snapshot,
      down,
    );
    const given = begin(tried).apply(withCanary, "my-etcd-2").apply(withStop, "my-etcd-2").snapshot;
    const peer = peerNamed(withPeer(given, "my-etcd-2", { spec: { previous: undefined } }), "my-etcd-2")!;
    expect(nextTemplate(given, { ...peer, spec: { ...peer.spec, previous: undefined } }).version).toBe("3.6.17");
  });

  test("a stop holds only for the failed revision", () => {
    expect(stoppedUpdate(stopped)).toEqual({ member: "my-etcd-2", message: "it ended" });
    expect(stoppedUpdate(withUpdate(wanted))).toBeUndefined();
    expect(stoppedUpdate(settled)).toBeUndefined();
    expect(stoppedUpdate(withUpdate(wanted, { revision: "0", stopped: { member: "a", message: "" } }))).toBeUndefined();
  });
});

describe("a restart waits for a person", () => {
  const asked = wanting(NEWER, { spec: ON_DELETE });
  const turned = withTurn(asked, "my-etcd-2");
  const back = begin(asked)
    .apply(withCanary, "my-etcd-2")
    .apply(withTurn, "my-etcd-2", OLD)
    .apply(withStop, "my-etcd-2").snapshot;
  const cases: { name: string; given: ClusterSnapshot; waits: boolean; restarts: boolean }[] = [
    { name: "a pending restart with OnDelete waits", given: turned, waits: true, restarts: false },
    {
      name: "a pending restart with RollingUpdate does not wait",
      given: withTurn(wanted, "my-etcd-2"),
      waits: false,
      restarts: true,
    },
    {
      name: "a pending restart with the failed template waits with OnDelete",
      given: withStop(turned, "my-etcd-1"),
      waits: true,
      restarts: false,
    },
    { name: "without a pending restart there is nothing to wait for", given: asked, waits: false, restarts: false },
    {
      name: "without a pod there is nothing to wait for",
      given: withoutPod(turned, "my-etcd-2"),
      waits: false,
      restarts: false,
    },
    { name: "a rollback does not wait", given: back, waits: false, restarts: true },
    {
      name: "a rollback of a second failed member does not wait",
      given: withStop(back, "my-etcd-1"),
      waits: false,
      restarts: true,
    },
    {
      name: "a pending restart waits when the recorded stop belongs to another update",
      given: withUpdate(back, { revision: "0123456789abcdef", stopped: { member: "my-etcd-2", message: "" } }),
      waits: true,
      restarts: false,
    },
    {
      name: "a pending restart with a failed template neither waits nor happens",
      given: begin(wanted).apply(withTurn, "my-etcd-2").apply(withStop, "my-etcd-1").snapshot,
      waits: false,
      restarts: false,
    },
    {
      name: "a pending restart of a member that never ran does not wait",
      given: withStraggler(turned, { started: false }),
      waits: false,
      restarts: true,
    },
  ];
  for (const { name, given, waits, restarts } of cases) {
    test(name, () => {
      const peer = peerNamed(given, "my-etcd-2")!;
      expect(awaitsManualRestart(given, peer)).toBe(waits);
      expect(isAboutToRestart(given, peer)).toBe(restarts);
    });
  }
});

describe("a restart is pending", () => {
  const turned = withTurn(wanted, "my-etcd-2");
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    { name: "when the pod has another template than the EtcdPeer", given: turned, is: true },
    { name: "not when the pod has the template of the EtcdPeer", given: wanted, is: false },
    { name: "not without a pod", given: withoutPod(turned, "my-etcd-2"), is: false },
    { name: "not with a terminating pod", given: withPod(turned, "my-etcd-2", going), is: false },
    { name: "not when the pod has no recorded revision", given: madeFrom(turned, "my-etcd-2", undefined), is: false },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(hasPendingRestart(given, peerNamed(given, "my-etcd-2")!)).toBe(is));

  test("the restart is possible once the ReplicaSet has the template", () => {
    const peer = peerNamed(turned, "my-etcd-2")!;
    expect(isTemplateReady(peer)).toBe(true);
    expect(isTemplateReady({ ...peer, status: { revision: revisionOf(OLD) } })).toBe(false);
    expect(isTemplateReady(peerNamed(settled, "my-etcd-2")!)).toBe(false);
  });
});

describe("a fit member", () => {
  const cases: { name: string; given: ClusterSnapshot; why: string | undefined }[] = [
    { name: "is healthy, Ready, has caught up, and has a recorded revision", given: settled, why: undefined },
    { name: "answers as a healthy member", given: cluster({ down: ["my-etcd-2"] }), why: "is healthy" },
    { name: "serves clients", given: unpublished(settled, "my-etcd-2"), why: "is healthy" },
    { name: "is ready", given: withPod(settled, "my-etcd-2", NOT_READY), why: "has a Ready pod" },
    { name: "has a pod", given: withoutPod(settled, "my-etcd-2"), why: "has a Ready pod" },
    { name: "has a pod that is not terminating", given: withPod(settled, "my-etcd-2", going), why: "has a Ready pod" },
    {
      name: "may be 1,000 raft entries behind the others",
      given: saying(settled, "my-etcd-0", { raftIndex: 1_010 }),
      why: undefined,
    },
    {
      name: "may not be more than 1,000 raft entries behind the others",
      given: saying(settled, "my-etcd-0", { raftIndex: 1_011 }),
      why: "has caught up with the others",
    },
    {
      name: "is compared with the most advanced member by applied index",
      given: begin(settled)
        .apply(saying, "my-etcd-1", { raftIndex: 5_000 })
        .apply(saying, "my-etcd-2", { raftIndex: 5_000 }).snapshot,
      why: "has caught up with the others",
    },
    {
      name: "is not compared with a silent member",
      given: begin(settled).apply(saying, "my-etcd-0", { raftIndex: 5_000 }).apply(answering, undefined).snapshot,
      why: undefined,
    },
    {
      name: "has a pod with a recorded template revision",
      given: madeFrom(settled, "my-etcd-2", undefined),
      why: "has a pod with a recorded template revision",
    },
  ];
  for (const { name, given, why } of cases)
    test(name, () => expect(restartBlocker(memberIn(given, "my-etcd-2"))).toBe(why));

  test("is updated once it runs the wanted template", () => {
    const updated = withUpdated(wanted, "my-etcd-2");
    const isDone = (given: ClusterSnapshot) => isUpdated(given, memberIn(given, "my-etcd-2"));
    expect(isDone(updated)).toBe(true);
    expect(isDone(wanted)).toBe(false);
    expect(isDone(withPod(updated, "my-etcd-2", NOT_READY))).toBe(false);
    expect(isDone(withoutPod(updated, "my-etcd-2"))).toBe(false);
  });
});

describe("the canary", () => {
  const tried = withCanary(wanted, "my-etcd-2");
  const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
    { name: "does not exist without an update", given: cluster({ down: ["my-etcd-2"] }), is: undefined },
    { name: "is a member that restarted with the wanted template", given: tried, is: "my-etcd-2" },
    {
      name: "is a member with a pod just deleted for the update",
      given: begin(wanted).apply(withTurn, "my-etcd-2").apply(withoutPod, "my-etcd-2").apply(withUpdate).snapshot,
      is: "my-etcd-2",
    },
    {
      name: "does not exist without a recorded update",
      given: begin(wanted).apply(withTurn, "my-etcd-2").apply(withoutPod, "my-etcd-2").snapshot,
      is: undefined,
    },
    {
      name: "does not exist for a proven update",
      given: begin(wanted)
        .apply(withTurn, "my-etcd-2")
        .apply(withoutPod, "my-etcd-2")
        .apply(withUpdate, { proven: true }).snapshot,
      is: undefined,
    },
    {
      name: "is not a member with a pending restart",
      given: begin(wanted).apply(withTurn, "my-etcd-2").apply(withUpdate).snapshot,
      is: undefined,
    },
    { name: "ends when the member is fit", given: withUpdated(wanted, "my-etcd-2"), is: undefined },
    { name: "ends when another member is fit", given: withUpdated(tried, "my-etcd-0"), is: undefined },
    {
      name: "ends when the wanted template changes",
      given: { ...tried, cluster: wanting({ ...OLD, version: "3.6.18" }).cluster },
      is: undefined,
    },
    {
      name: "is not a member that always had the template",
      given: withPeer(tried, "my-etcd-2", { spec: { previous: undefined } }),
      is: undefined,
    },
    { name: "is not a member that lost its claim", given: withoutClaims(tried, "my-etcd-2"), is: undefined },
    {
      name: "is not a member with an empty volume",
      given: withPod(tried, "my-etcd-2", EMPTIED),
      is: undefined,
    },
    {
      name: "is the next restarted member when the first one lost its claim",
      given: begin(tried).apply(withCanary, "my-etcd-1").apply(withoutClaims, "my-etcd-1").snapshot,
      is: "my-etcd-2",
    },
    { name: "is not a member without an EtcdPeer", given: withoutPeers(tried, "my-etcd-2"), is: undefined },
    { name: "is not a member after its rollback", given: withTurn(tried, "my-etcd-2", OLD), is: undefined },
    {
      name: "does not exist once the spec asks for the old template again",
      given: { ...tried, cluster: settled.cluster },
      is: undefined,
    },
    {
      name: "is not a learner",
      given: begin(wanting(NEWER))
        .apply(withArrival, "my-etcd-3", "added")
        .apply(withPeer, "my-etcd-3", {
          spec: { ...NEWER, previous: OLD },
        }).snapshot,
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(canary(given)?.name).toBe(is));
});

describe("a member is starting with the update", () => {
  const made = (given: ClusterSnapshot, creationTimestamp: string) =>
    withPod(given, "my-etcd-2", { metadata: { creationTimestamp } });
  const updated = begin(wanted).apply(withUpdate).apply(withUpdated, "my-etcd-2").snapshot;
  const unnoted = madeFrom(settled, "my-etcd-2", undefined);
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    {
      name: "when its pod with the new template is younger than the start timeout",
      given: made(updated, "2026-01-01T11:50:01Z"),
      is: true,
    },
    {
      name: "not when its pod is as old as the start timeout",
      given: made(updated, "2026-01-01T11:50:00Z"),
      is: false,
    },
    {
      name: "not when its pod has another template",
      given: made(withUpdate(wanted), "2026-01-01T11:59:00Z"),
      is: false,
    },
    {
      name: "not when its pod has no recorded revision and no update is recorded",
      given: made(unnoted, "2026-01-01T11:59:00Z"),
      is: false,
    },
    { name: "not without a pod", given: withoutPod(updated, "my-etcd-2"), is: false },
    {
      name: "not without its claim",
      given: withoutClaims(made(updated, "2026-01-01T11:59:00Z"), "my-etcd-2"),
      is: false,
    },
    {
      name: "not with an empty volume",
      given: withPod(made(updated, "2026-01-01T11:59:00Z"), "my-etcd-2", EMPTIED),
      is: false,
    },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(memberIn(given, "my-etcd-2").template.hasStartTimeout).toBe(is));
});

test("othersDown returns the other managed voters outside the quorum", () => {
  const names = (given: ClusterSnapshot) => othersDown(given, "my-etcd-2").map(({ name }) => name);
  expect(names(settled)).toEqual([]);
  expect(names(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }))).toEqual(["my-etcd-1"]);
  expect(names(unpublished(settled, "my-etcd-1"))).toEqual([]);
  expect(names(withMember(settled, THEIRS))).toEqual([]);
  expect(names(withArrival(settled, "my-etcd-3", "added"))).toEqual([]);
});

test("a new template may help a young member that lacks only the readiness of a sidecar", () => {
  const metadata = { creationTimestamp: "2026-01-01T11:59:00Z" };
  const young = begin(settled)
    .apply(withPeer, "my-etcd-2", { spec: { previous: OLD } })
    .apply(withPod, "my-etcd-2", { metadata }).snapshot;
  const needs = (given: ClusterSnapshot) => mayNeedNewTemplate(given, peerNamed(given, "my-etcd-2")!);
  expect(needs(withPod(young, "my-etcd-2", UNREADY_BESIDE))).toBe(true);
  expect(needs(young)).toBe(false);
});
