import { describe, expect, test } from "vitest";
import { CLIENT_TLS_VOLUME } from "#api/names.ts";
import { type MemberTemplate, revisionOf } from "#api/revision.ts";
import { othersDown, whyUnfit } from "#cluster/fitness.ts";
import { type KnownMember, memberNamed } from "#cluster/members.ts";
import {
  backTemplates,
  canary,
  hasTurn,
  isAboutToRestart,
  isComingUp,
  isTemplateReady,
  isUpdated,
  nextTemplate,
  stoppedUpdate,
  waitsForPerson,
  wantedRevision,
  wantedTemplate,
  whyRefused,
} from "#cluster/rolling.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import { cluster, unpublished, withArrival } from "#kit/cluster.ts";
import { THEIRS, withMember, withoutClaims, withoutPeers, withStraggler } from "#kit/cluster-changes.ts";
import {
  answering,
  BEFORE,
  downgrading,
  madeFrom,
  NEWER,
  NEXT_MINOR,
  OLD,
  ON_DELETE,
  recording,
  refusing,
  saying,
  wanting,
  withCanary,
  withCrashing,
  withoutPod,
  withPeer,
  withPod,
  withRunning,
  withStop,
  withTurn,
  withUpdate,
  withUpdated,
} from "#kit/cluster-rolling.ts";
import { HAS } from "#kit/cluster-switch.ts";
import { secured, tlsSpec } from "#kit/cluster-tls.ts";
import { withResources } from "#kit/pod-template.ts";

const settled = cluster();
const LIMITED = withResources({ limits: { cpu: "1" } });
const wanted = wanting(NEWER);
const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };
const going = { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } };

function memberIn(snapshot: ClusterSnapshot, name: string): KnownMember {
  return memberNamed(snapshot, name)!;
}

/** The container of one that was started without its data. */
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

describe("what is wanted", () => {
  const cases: { name: string; given: ClusterSnapshot; version: string }[] = [
    { name: "is what the spec says", given: wanting(NEXT_MINOR), version: "3.7.1" },
    {
      name: "is what members run when there is no way",
      given: cluster({ spec: { version: "3.4.1" } }),
      version: "3.6.16",
    },
    {
      name: "is the minor before, whatever it takes",
      given: cluster({ spec: { version: "3.5.35" } }),
      version: "3.5.35",
    },
    {
      name: "is what most of their EtcdPeers say, whatever else a member still runs",
      given: answering(cluster({ spec: { version: "3.4.1" } }), "3.6.1"),
      version: "3.6.16",
    },
    {
      name: "is what some of them run when there is no way to what most of their EtcdPeers say",
      given: ["my-etcd-0", "my-etcd-1"].reduce(
        (given, name) => withPeer(given, name, { spec: { version: "3.4.1" } }),
        answering(cluster({ spec: { version: "3.3.1" } }), "3.6.16", "3.6.16", "3.6.16"),
      ),
      version: "3.6.16",
    },
    {
      name: "is what most have when there is no way to anything",
      given: answering(cluster({ spec: { version: "3.3.1" } }), "3.3.1", "3.7.0", "3.7.0"),
      version: "3.7.0",
    },
  ];
  for (const { name, given, version } of cases) test(name, () => expect(wantedTemplate(given).version).toBe(version));

  test("is always the podTemplate of the spec", () => {
    const podTemplate = withResources({ limits: { cpu: "1" } });
    expect(wantedTemplate(cluster({ spec: { version: "3.4.1", podTemplate } }))).toEqual({
      version: "3.6.16",
      podTemplate,
    });
  });
});

test("who goes back is reached as it is, as long as it could dial nobody over TLS", () => {
  const tried = withStop(withCanary(wanting(NEWER, { replicas: 1 }), "my-etcd-0"), "my-etcd-0");
  const given = withPeer(tried, "my-etcd-0", { spec: { previous: { ...OLD, tls: HAS.reached } } });
  const [first] = backTemplates(given, peerNamed(given, "my-etcd-0")!);
  expect(first).toMatchObject({ version: "3.6.16", tls: { peer: { scheme: "http" } } });
});

describe("what a member is to run next", () => {
  const stopped = withStop(withCanary(wanted, "my-etcd-2"), "my-etcd-2");
  const cases: { name: string; given: ClusterSnapshot; of?: string; version: string }[] = [
    { name: "is what is wanted", given: wanted, version: "3.6.17" },
    { name: "is what it has when the update was stopped", given: stopped, of: "my-etcd-1", version: "3.6.16" },
    { name: "is what it had, for who did not come up", given: stopped, version: "3.6.16" },
    {
      name: "is what it has, for who did come up",
      given: withStop(withUpdated(wanted, "my-etcd-2"), "my-etcd-2"),
      version: "3.6.17",
    },
    {
      name: "is what somebody runs who is well, for who has nothing on record",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: undefined } }),
      version: "3.6.16",
    },
    {
      name: "is not what was tried in vain, whoever has it, and not what nobody is well with",
      given: madeFrom(
        withPeer(
          withPeer(withUpdated(stopped, "my-etcd-0"), "my-etcd-2", { spec: { previous: undefined } }),
          "my-etcd-1",
          { spec: { version: "3.6.15" } },
        ),
        "my-etcd-1",
        { ...OLD, version: "3.6.15" },
      ),
      version: "3.6.15",
    },
    {
      name: "is not what somebody who is well has only on record",
      given: withTurn(withPeer(stopped, "my-etcd-2", { spec: { previous: undefined } }), "my-etcd-0", {
        ...OLD,
        version: "3.6.15",
      }),
      version: "3.6.16",
    },
    {
      name: "is what it runs, for who is well and was to restart with it",
      given: withTurn(stopped, "my-etcd-1"),
      of: "my-etcd-1",
      version: "3.6.16",
    },
    {
      name: "is not what somebody has who is not well",
      given: withPeer(
        withPeer(answering(stopped, undefined, "3.6.16"), "my-etcd-2", { spec: { previous: undefined } }),
        "my-etcd-0",
        { spec: { version: "3.6.15" } },
      ),
      version: "3.6.16",
    },
    {
      name: "is not what there is no way back to",
      given: withPeer(stopped, "my-etcd-2", { spec: { previous: { ...OLD, version: "3.5.35" } } }),
      version: "3.6.16",
    },
    {
      name: "nor what nobody goes back to, although somebody speaks its minor",
      given: withPeer(answering(stopped, "3.5.35", "3.5.35"), "my-etcd-2", {
        spec: { previous: { ...OLD, version: "3.5.20" } },
      }),
      version: "3.5.35",
    },
    {
      name: "is what it was given, for who has never run, when nobody can go to what is asked for",
      given: withPeer(
        withoutPod(withStraggler(cluster({ spec: { version: "3.4.1" } }), { started: false }), "my-etcd-2"),
        "my-etcd-2",
        { spec: { version: "3.6.15" } },
      ),
      version: "3.6.15",
    },
    {
      name: "is what it has when nobody runs anything else",
      given: withPeer(withStop(withCanary(wanting(NEWER, { replicas: 1 }), "my-etcd-0"), "my-etcd-0"), "my-etcd-0", {
        spec: { previous: undefined },
      }),
      of: "my-etcd-0",
      version: "3.6.17",
    },
  ];
  for (const { name, given, of = "my-etcd-2", version } of cases)
    test(name, () => expect(nextTemplate(given, peerNamed(given, of)!).version).toBe(version));

  describe("with a way back by a minor", () => {
    const back = wanting(BEFORE);
    /** The one that was restarted with this does not run, and then an older minor is asked for, with other limits. */
    const stuck = (given: MemberTemplate) => {
      const asked = wanting({ ...BEFORE, podTemplate: LIMITED }, { down: ["my-etcd-2"] });
      return withCrashing(madeFrom(withTurn(asked, "my-etcd-2", given), "my-etcd-2", given), "my-etcd-2");
    };
    const cases: { name: string; given: ClusterSnapshot; of?: string; next: MemberTemplate }[] = [
      { name: "is what it has, until etcd has been asked", given: back, next: OLD },
      {
        name: "what else is wanted comes with it: without it nobody would try that out",
        given: wanting({ ...BEFORE, podTemplate: LIMITED }),
        next: OLD,
      },
      {
        name: "who runs nothing gets it at once",
        given: withCrashing(
          recording(
            wanting({ ...BEFORE, podTemplate: LIMITED }, { down: ["my-etcd-2"] }),
            "3.6.16",
            "3.6.16",
            "3.6.16",
          ),
          "my-etcd-2",
        ),
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "so does whose pod nobody may make",
        given: withoutPod(
          recording(
            wanting({ ...BEFORE, podTemplate: LIMITED }, { down: ["my-etcd-2"] }),
            "3.6.16",
            "3.6.16",
            "3.6.16",
          ),
          "my-etcd-2",
        ),
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "a turn is taken back also when nothing tells what it was before",
        given: withPeer(withTurn(back, "my-etcd-2"), "my-etcd-2", { spec: { previous: undefined } }),
        next: OLD,
      },
      {
        name: "all of it is taken back when the downgrade was cancelled",
        given: withTurn(wanting({ ...BEFORE, podTemplate: LIMITED }), "my-etcd-2"),
        next: OLD,
      },
      {
        name: "is what it has, when it is to go forward instead and data is not converted back yet",
        given: saying(wanting(NEXT_MINOR), "my-etcd-0", { storageVersion: "3.5.0" }),
        next: OLD,
      },
      {
        name: "a turn to the minor before is taken back then, too",
        given: saying(withTurn(wanting(NEXT_MINOR), "my-etcd-2", BEFORE), "my-etcd-0", { storageVersion: "3.5.0" }),
        next: OLD,
      },
      {
        name: "who runs nothing gets the rest at once",
        given: saying(
          withCrashing(
            recording(
              wanting({ ...NEXT_MINOR, podTemplate: LIMITED }, { down: ["my-etcd-2"] }),
              "3.6.16",
              "3.6.16",
              "3.6.16",
            ),
            "my-etcd-2",
          ),
          "my-etcd-0",
          { storageVersion: "3.5.0" },
        ),
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "who runs nothing gets the rest with the release that it ran last",
        given: recording(stuck(NEWER), "3.6.16", "3.6.16", "3.6.16"),
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "whatever it had before that: it may have run something with which it was never well",
        given: recording(
          withPeer(stuck(NEWER), "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.15" } } }),
          "3.6.16",
          "3.6.16",
          "3.6.16",
        ),
        next: { ...OLD, podTemplate: LIMITED },
      },
      {
        name: "but not with one of its minor that nobody was given: an image may call itself so",
        given: recording(stuck(NEWER), "3.6.16", "3.6.16", "3.6.18"),
        next: { ...NEWER, podTemplate: LIMITED },
      },
      {
        name: "unless it was given that before",
        given: recording(
          withPeer(stuck(NEWER), "my-etcd-2", { spec: { previous: { ...OLD, version: "3.6.18" } } }),
          "3.6.16",
          "3.6.16",
          "3.6.18",
        ),
        next: { ...OLD, version: "3.6.18", podTemplate: LIMITED },
      },
      {
        name: "of another minor it is the one that it ran, also when nobody has it on record any more",
        given: recording(
          withTurn(wanting(OLD, { down: ["my-etcd-0", "my-etcd-1", "my-etcd-2"] }), "my-etcd-2", NEWER),
          "3.6.16",
          "3.6.16",
          "3.7.1",
        ),
        next: NEXT_MINOR,
      },
      {
        name: "and keeps the release that it was given when it has run that",
        given: recording(stuck(NEWER), "3.6.16", "3.6.16", "3.6.17"),
        next: { ...NEWER, podTemplate: LIMITED },
      },
      { name: "is what is wanted when its data is there", given: downgrading(back, ["my-etcd-2"]), next: BEFORE },
      { name: "is no matter of others' data", given: downgrading(back, ["my-etcd-1"]), next: OLD },
      {
        name: "a turn is taken back when the downgrade was cancelled",
        given: withTurn(back, "my-etcd-2"),
        next: OLD,
      },
      {
        name: "a turn is taken back when an older minor is asked for before it has come",
        given: { ...withTurn(wanting(NEXT_MINOR), "my-etcd-2"), cluster: back.cluster },
        next: OLD,
      },
      {
        name: "it stays with what it was given as long as it is silent",
        given: recording(withCanary(back, "my-etcd-2"), "3.6.16", "3.6.16", "3.6.16"),
        next: BEFORE,
      },
      {
        name: "also while etcd runs there and gives no answer",
        given: withRunning(recording(withCanary(back, "my-etcd-2"), "3.6.16", "3.6.16", "3.6.16"), "my-etcd-2"),
        next: BEFORE,
      },
      {
        name: "who did not come up with it goes forth again",
        given: recording(withStop(withCanary(back, "my-etcd-2"), "my-etcd-2"), "3.6.16", "3.6.16", "3.6.16"),
        next: OLD,
      },
      {
        name: "who did not come up with the next minor goes back while the others speak the old one",
        given: withStop(withCanary(wanting(NEXT_MINOR), "my-etcd-2"), "my-etcd-2"),
        next: OLD,
      },
      {
        name: "and stays when the cluster may speak the next one already",
        given: withStop(
          withPod(withUpdated(wanting(NEXT_MINOR, { replicas: 1 }), "my-etcd-0"), "my-etcd-0", notReady),
          "my-etcd-0",
        ),
        of: "my-etcd-0",
        next: NEXT_MINOR,
      },
    ];
    for (const { name, given, of = "my-etcd-2", next } of cases)
      test(name, () => expect(nextTemplate(given, peerNamed(given, of)!)).toEqual(next));
  });

  describe("when what is asked for is refused in the middle of an update", () => {
    const half = withUpdated(wanting(NEXT_MINOR), "my-etcd-2");
    const editing = (spec: Partial<ClusterSnapshot["cluster"]["spec"]>): ClusterSnapshot => ({
      ...half,
      cluster: { ...half.cluster, spec: { ...half.cluster.spec, ...spec } },
    });
    const next = (given: ClusterSnapshot) => given.peers.map((peer) => nextTemplate(given, peer));

    test("each keeps the release that it has, and gets the rest", () => {
      const given = editing({ version: "3.9.0", podTemplate: LIMITED });
      expect(next(given)).toEqual([OLD, OLD, NEXT_MINOR].map((own) => ({ ...own, podTemplate: LIMITED })));
    });

    test("who has yet to restart with another one keeps what it runs, too, and gets the rest", () => {
      const editedTo = (podTemplate: typeof LIMITED) => {
        const turned = withTurn(wanting(NEXT_MINOR, { replicas: 1 }), "my-etcd-0");
        const spec = { ...turned.cluster.spec, version: "3.9.0", podTemplate };
        return { ...turned, cluster: { ...turned.cluster, spec } };
      };
      expect(next(editedTo(OLD.podTemplate))).toEqual([OLD]);
      const limited = { ...OLD, podTemplate: LIMITED };
      expect(next(editedTo(LIMITED))).toEqual([limited]);
      // It has yet to restart with that, which is no reason to take it back again.
      expect(next(withTurn(editedTo(LIMITED), "my-etcd-0", limited, { previous: OLD }))).toEqual([limited]);
    });

    test("but nobody goes on to one that it was given before it said what it has its data from", () => {
      const EARLY = { ...OLD, version: "3.5.21" };
      const said = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce((given, name) => {
        const running = madeFrom(withPeer(given, name, { spec: { version: EARLY.version } }), name, EARLY);
        return saying(running, name, { version: EARLY.version });
      }, wanting(NEWER));
      const given = withTurn(said, "my-etcd-2", NEWER);
      expect(next(given)).toEqual([EARLY, EARLY, EARLY]);
      // Nor who runs nothing at the moment.
      expect(next(withoutPod(given, "my-etcd-2")).at(-1)).toEqual(EARLY);
      // Who runs what the others could not go to keeps it.
      const runs = saying(madeFrom(given, "my-etcd-2", NEWER), "my-etcd-2", { version: NEWER.version });
      expect(next(runs).map(({ version }) => version)).toEqual(["3.5.21", "3.5.21", "3.6.17"]);
    });

    test("who has never run does not get back what it could not start with, and goes on to what it was given", () => {
      const FAILED = { ...OLD, version: "3.6.99" };
      const straggler = withStraggler(cluster({ spec: { version: "3.9.0" } }), { started: false });
      const had = withPeer(withCrashing(straggler, "my-etcd-2"), "my-etcd-2", { spec: FAILED });
      const given = (version: string) => madeFrom(withTurn(had, "my-etcd-2", { ...OLD, version }), "my-etcd-2", FAILED);
      const of = (snapshot: ClusterSnapshot) => nextTemplate(snapshot, peerNamed(snapshot, "my-etcd-2")!);
      expect(of(given("3.6.17"))).toEqual(NEWER);
      // Nor what nobody can go to: then it gets what the others run.
      expect(of(given("3.4.1"))).toEqual(OLD);
      expect(of(withoutPod(given("3.4.1"), "my-etcd-2"))).toEqual(OLD);
      expect(of(refusing(given("3.6.17")))).toEqual(NEWER);
      // Its pod may yet come up with what it had.
      const starting = withPod(given("3.6.17"), "my-etcd-2", { status: { containerStatuses: [] } });
      const young = withPod(starting, "my-etcd-2", { metadata: { creationTimestamp: "2026-01-01T12:00:00Z" } });
      expect(of(young)).toEqual(FAILED);
    });

    test("each keeps all that it has when no member could run the rest", () => {
      expect(next(editing({ etcd: { extraArgs: { "max-txn-op": "1" } } }))).toEqual([OLD, OLD, NEXT_MINOR]);
    });

    test("what is beside certificates is refused where members have some", () => {
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

    test("who has yet to restart keeps what it runs", () => {
      expect(of(refusing(withTurn(wanted, "my-etcd-2")))).toEqual(OLD);
    });

    test("also when what that is does not stand on record: then what it was given", () => {
      expect(of(refusing(withTurn(wanted, "my-etcd-2", NEWER, { previous: BEFORE })))).toEqual(NEWER);
    });

    const tried = withCanary(wanted, "my-etcd-2");

    test("who has restarted is judged to the end", () => {
      expect(of(refusing(tried))).toEqual(NEWER);
      expect(canary(refusing(tried))?.name).toBe("my-etcd-2");
    });

    test("and put back, which stays on record until it is", () => {
      expect(of(refusing(withStop(tried, "my-etcd-2")))).toEqual(OLD);
      const back = refusing(withTurn(withStop(tried, "my-etcd-2"), "my-etcd-2", OLD));
      expect(stoppedUpdate(back)).toBeDefined();
      expect(stoppedUpdate(madeFrom(back, "my-etcd-2", OLD))).toBeUndefined();
    });

    test("an update that nobody has got any more is over", () => {
      expect(wantedRevision(refusing(withUpdate(wanted)))).toBe(revisionOf(OLD));
      expect(wantedRevision(refusing(tried))).toBe(revisionOf(NEWER));
      expect(wantedRevision(refusing(withTurn(withUpdate(wanted), "my-etcd-2")))).toBe(revisionOf(NEWER));
    });

    test("also when some of them have another podTemplate by then", () => {
      const some = withUpdated(wanting({ ...OLD, podTemplate: LIMITED }), "my-etcd-2");
      const spec = { ...some.cluster.spec, etcd: { extraArgs: { "max-txn-op": "1" } } };
      const given = { ...some, cluster: { ...some.cluster, spec } };
      expect(next(given)).toEqual([OLD, OLD, { ...OLD, podTemplate: LIMITED }]);
    });
  });

  test("what nobody is well with is no way back", () => {
    const others = ["my-etcd-0", "my-etcd-2"];
    const down = cluster({ down: ["my-etcd-1"], spec: NEWER });
    const tried = others.reduce((given, name) => madeFrom(withPeer(given, name, { spec: NEWER }), name, NEWER), down);
    const given = withStop(withCanary(tried, "my-etcd-2"), "my-etcd-2");
    const peer = peerNamed(withPeer(given, "my-etcd-2", { spec: { previous: undefined } }), "my-etcd-2")!;
    expect(nextTemplate(given, { ...peer, spec: { ...peer.spec, previous: undefined } }).version).toBe("3.6.17");
  });

  test("a stop holds for the very wish that was tried", () => {
    expect(stoppedUpdate(stopped)).toEqual({ member: "my-etcd-2", message: "it ended" });
    expect(stoppedUpdate(withUpdate(wanted))).toBeUndefined();
    expect(stoppedUpdate(settled)).toBeUndefined();
    expect(stoppedUpdate(withUpdate(wanted, { revision: "0", stopped: { member: "a", message: "" } }))).toBeUndefined();
  });
});

describe("a member waits for a person", () => {
  const asked = wanting(NEWER, { spec: ON_DELETE });
  const turned = withTurn(asked, "my-etcd-2");
  const back = withStop(withTurn(withCanary(asked, "my-etcd-2"), "my-etcd-2", OLD), "my-etcd-2");
  const cases: { name: string; given: ClusterSnapshot; waits: boolean; restarts: boolean }[] = [
    { name: "when it has its turn, and people restart members", given: turned, waits: true, restarts: false },
    { name: "not when the operator does", given: withTurn(wanted, "my-etcd-2"), waits: false, restarts: true },
    {
      name: "also after the update was stopped, when it has what was tried",
      given: withStop(turned, "my-etcd-1"),
      waits: true,
      restarts: false,
    },
    { name: "nor when it has none", given: asked, waits: false, restarts: false },
    { name: "nor when its pod is gone", given: withoutPod(turned, "my-etcd-2"), waits: false, restarts: false },
    { name: "nor when it is put back", given: back, waits: false, restarts: true },
    {
      name: "nor when it is put back beside the one for which the update was stopped",
      given: withStop(back, "my-etcd-1"),
      waits: false,
      restarts: true,
    },
    {
      name: "but when another update was stopped",
      given: withUpdate(back, { revision: "0123456789abcdef", stopped: { member: "my-etcd-2", message: "" } }),
      waits: true,
      restarts: false,
    },
    {
      name: "nor does anybody restart with what was tried in vain",
      given: withStop(withTurn(wanted, "my-etcd-2"), "my-etcd-1"),
      waits: false,
      restarts: false,
    },
    {
      name: "nor when it has never run",
      given: withStraggler(turned, { started: false }),
      waits: false,
      restarts: true,
    },
  ];
  for (const { name, given, waits, restarts } of cases) {
    test(name, () => {
      const peer = peerNamed(given, "my-etcd-2")!;
      expect(waitsForPerson(given, peer)).toBe(waits);
      expect(isAboutToRestart(given, peer)).toBe(restarts);
    });
  }
});

describe("a member has its turn", () => {
  const turned = withTurn(wanted, "my-etcd-2");
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    { name: "when its pod was made from something else than its EtcdPeer says", given: turned, is: true },
    { name: "not when it was made from that", given: wanted, is: false },
    { name: "nor when it has none", given: withoutPod(turned, "my-etcd-2"), is: false },
    { name: "nor when it is going", given: withPod(turned, "my-etcd-2", going), is: false },
    { name: "nor when it does not say", given: madeFrom(turned, "my-etcd-2", undefined), is: false },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(hasTurn(given, peerNamed(given, "my-etcd-2")!)).toBe(is));

  test("and may restart when its ReplicaSet would make what its EtcdPeer says", () => {
    const peer = peerNamed(turned, "my-etcd-2")!;
    expect(isTemplateReady(peer)).toBe(true);
    expect(isTemplateReady({ ...peer, status: { revision: revisionOf(OLD) } })).toBe(false);
    expect(isTemplateReady(peerNamed(settled, "my-etcd-2")!)).toBe(false);
  });
});

describe("who can be counted on", () => {
  const cases: { name: string; given: ClusterSnapshot; why: string | undefined }[] = [
    { name: "is healthy, ready, has caught up, and says what its pod was made from", given: settled, why: undefined },
    { name: "answers", given: cluster({ down: ["my-etcd-2"] }), why: "is healthy" },
    { name: "serves clients", given: unpublished(settled, "my-etcd-2"), why: "is healthy" },
    { name: "is ready", given: withPod(settled, "my-etcd-2", notReady), why: "is ready by the kubelet's word" },
    { name: "has a pod", given: withoutPod(settled, "my-etcd-2"), why: "is ready by the kubelet's word" },
    { name: "stays", given: withPod(settled, "my-etcd-2", going), why: "is ready by the kubelet's word" },
    {
      name: "may be a thousand entries behind",
      given: saying(settled, "my-etcd-0", { raftIndex: 1_010 }),
      why: undefined,
    },
    {
      name: "may not be more",
      given: saying(settled, "my-etcd-0", { raftIndex: 1_011 }),
      why: "has caught up with the others",
    },
    {
      name: "is measured by who is furthest, and by what it has applied",
      given: saying(saying(settled, "my-etcd-1", { raftIndex: 5_000 }), "my-etcd-2", { raftIndex: 5_000 }),
      why: "has caught up with the others",
    },
    {
      name: "is not measured by who does not answer",
      given: answering(saying(settled, "my-etcd-0", { raftIndex: 5_000 }), undefined),
      why: undefined,
    },
    {
      name: "has on record what its pod was made from",
      given: madeFrom(settled, "my-etcd-2", undefined),
      why: "has on record what its pod was made from",
    },
  ];
  for (const { name, given, why } of cases)
    test(name, () => expect(whyUnfit(given, memberIn(given, "my-etcd-2"))).toBe(why));

  test("and runs what is wanted is done with", () => {
    const updated = withUpdated(wanted, "my-etcd-2");
    const isDone = (given: ClusterSnapshot) => isUpdated(given, memberIn(given, "my-etcd-2"));
    expect(isDone(updated)).toBe(true);
    expect(isDone(wanted)).toBe(false);
    expect(isDone(withPod(updated, "my-etcd-2", notReady))).toBe(false);
    expect(isDone(withoutPod(updated, "my-etcd-2"))).toBe(false);
  });
});

describe("the first one that got something new", () => {
  const tried = withCanary(wanted, "my-etcd-2");
  const cases: { name: string; given: ClusterSnapshot; is: string | undefined }[] = [
    { name: "is nobody when nothing new is wanted", given: cluster({ down: ["my-etcd-2"] }), is: undefined },
    { name: "has restarted with it", given: tried, is: "my-etcd-2" },
    {
      name: "has just lost its pod to it",
      given: withUpdate(withoutPod(withTurn(wanted, "my-etcd-2"), "my-etcd-2")),
      is: "my-etcd-2",
    },
    {
      name: "is nobody as long as no update stands on record, nor when it has been over for long",
      given: withoutPod(withTurn(wanted, "my-etcd-2"), "my-etcd-2"),
      is: undefined,
    },
    {
      name: "is nobody when somebody has been well with it before",
      given: withUpdate(withoutPod(withTurn(wanted, "my-etcd-2"), "my-etcd-2"), { proven: true }),
      is: undefined,
    },
    { name: "has yet to restart", given: withUpdate(withTurn(wanted, "my-etcd-2")), is: undefined },
    { name: "is well with it, and is none any more", given: withUpdated(wanted, "my-etcd-2"), is: undefined },
    { name: "is none when somebody else is well with it", given: withUpdated(tried, "my-etcd-0"), is: undefined },
    {
      name: "is none when what it has is not wanted any more",
      given: { ...tried, cluster: wanting({ ...OLD, version: "3.6.18" }).cluster },
      is: undefined,
    },
    {
      name: "is none when it had it all the time: who goes back to what one of them never left would blame that one",
      given: withPeer(tried, "my-etcd-2", { spec: { previous: undefined } }),
      is: undefined,
    },
    { name: "is none when it has lost its claim", given: withoutClaims(tried, "my-etcd-2"), is: undefined },
    {
      name: "is none when its volume is empty",
      given: withPod(tried, "my-etcd-2", EMPTIED),
      is: undefined,
    },
    {
      name: "is the next one then",
      given: withoutClaims(withCanary(tried, "my-etcd-1"), "my-etcd-1"),
      is: "my-etcd-2",
    },
    { name: "is none without an EtcdPeer", given: withoutPeers(tried, "my-etcd-2"), is: undefined },
    { name: "has been put back", given: withTurn(tried, "my-etcd-2", OLD), is: undefined },
    {
      name: "is none of whom the old is wanted again, although its pod is the new one",
      given: { ...tried, cluster: settled.cluster },
      is: undefined,
    },
    {
      name: "is no learner",
      given: withPeer(withArrival(wanting(NEWER), "my-etcd-3", "added"), "my-etcd-3", {
        spec: { ...NEWER, previous: OLD },
      }),
      is: undefined,
    },
  ];
  for (const { name, given, is } of cases) test(name, () => expect(canary(given)?.name).toBe(is));
});

describe("a member is coming up", () => {
  const made = (given: ClusterSnapshot, creationTimestamp: string) =>
    withPod(given, "my-etcd-2", { metadata: { creationTimestamp } });
  const updated = withUpdated(withUpdate(wanted), "my-etcd-2");
  const unnoted = madeFrom(settled, "my-etcd-2", undefined);
  const cases: { name: string; given: ClusterSnapshot; is: boolean }[] = [
    { name: "when the update has just made its pod", given: made(updated, "2026-01-01T11:50:01Z"), is: true },
    { name: "not when that was a while ago", given: made(updated, "2026-01-01T11:50:00Z"), is: false },
    {
      name: "nor when its pod was made from something else",
      given: made(withUpdate(wanted), "2026-01-01T11:59:00Z"),
      is: false,
    },
    {
      name: "nor when its pod does not say, and no update is on",
      given: made(unnoted, "2026-01-01T11:59:00Z"),
      is: false,
    },
    { name: "nor when it has none", given: withoutPod(updated, "my-etcd-2"), is: false },
    {
      name: "nor when it has lost its claim",
      given: withoutClaims(made(updated, "2026-01-01T11:59:00Z"), "my-etcd-2"),
      is: false,
    },
    {
      name: "nor when its volume is empty",
      given: withPod(made(updated, "2026-01-01T11:59:00Z"), "my-etcd-2", EMPTIED),
      is: false,
    },
  ];
  for (const { name, given, is } of cases)
    test(name, () => expect(isComingUp(given, memberIn(given, "my-etcd-2"))).toBe(is));
});

test("who else is down: voters of ours that do not take part", () => {
  const names = (given: ClusterSnapshot) => othersDown(given, "my-etcd-2").map(({ name }) => name);
  expect(names(settled)).toEqual([]);
  expect(names(cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-2"] }))).toEqual(["my-etcd-1"]);
  expect(names(unpublished(settled, "my-etcd-1"))).toEqual([]);
  expect(names(withMember(settled, THEIRS))).toEqual([]);
  expect(names(withArrival(settled, "my-etcd-3", "added"))).toEqual([]);
});
