import { expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import { absent } from "#base/observed.ts";
import { upToDate } from "#cluster/conditions/up-to-date.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { cluster, withArrival } from "#kit/cluster.ts";
import { THEIRS, withMember } from "#kit/cluster-changes.ts";
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
} from "#kit/cluster-rolling.ts";
import { switching } from "#kit/cluster-switch.ts";
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
} from "#kit/cluster-tls.ts";

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
  /** Members that run what is asked for. */
  readonly members?: readonly string[];
}[] = [
  {
    name: "nothing else is asked for than runs",
    given: settled,
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "the same is asked for in other words",
    given: wanting({ ...OLD, podTemplate: { metadata: {} } }),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "nobody has had a turn yet",
    given: wanting(NEWER),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
    members: [],
  },
  {
    name: "one has yet to restart",
    given: turning,
    says: ["False", "Rolling", "2 of 3 members run what the spec asks for"],
    members: ["my-etcd-1", "my-etcd-2"],
  },
  {
    name: "all have restarted, and the last one has yet to become well",
    given: withUpdate(withCanary(withUpdated(wanting(NEWER), "my-etcd-0", "my-etcd-1"), "my-etcd-2")),
    says: ["False", "Rolling", "3 of 3 members run what the spec asks for; my-etcd-2 is not fit yet"],
    members: ALL,
  },
  {
    name: "all run it and are well",
    given: withUpdated(wanting(NEWER), ...ALL),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "a member is down, and nothing else is asked for than it will run",
    given: withUpdated(wanting(NEWER, { down: ["my-etcd-2"] }), "my-etcd-0", "my-etcd-1"),
    says: ["False", "Rolling", "2 of 3 members run what the spec asks for; my-etcd-2 is not fit yet"],
  },
  {
    name: "the update was stopped",
    given: withStop(wanting(NEWER), "my-etcd-2"),
    says: ["False", "UpdateStopped", "my-etcd-2 did not come up: it ended"],
    members: [],
  },
  {
    name: "people restart members, and have not yet",
    given: withTurn(withTurn(withUpdated(onDelete, "my-etcd-2"), "my-etcd-1"), "my-etcd-0"),
    says: [
      "False",
      "WaitsForDeletion",
      "1 of 3 members run what the spec asks for; my-etcd-0, my-etcd-1 get what the spec asks for when somebody deletes their pods",
    ],
    members: ["my-etcd-2"],
  },
  {
    name: "people have yet to restart the last one",
    given: withTurn(withUpdated(onDelete, "my-etcd-1", "my-etcd-2"), "my-etcd-0"),
    says: [
      "False",
      "WaitsForDeletion",
      "2 of 3 members run what the spec asks for; my-etcd-0 gets what the spec asks for when somebody deletes its pod",
    ],
  },
  {
    name: "there is one member",
    given: cluster({ replicas: 1 }),
    says: ["True", "UpToDate", "1 of 1 members run what the spec asks for"],
    members: ["my-etcd-0"],
  },
  {
    name: "people restart members, and not all of them know yet",
    given: withTurn(onDelete, "my-etcd-2"),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
  },
  {
    name: "it is paused on the way",
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
    name: "no member could run what is asked for",
    given: cluster({ spec: UNKNOWN_FLAG }),
    says: [
      "False",
      "SpecRefused",
      'spec.etcd.extraArgs: "max-txn-op" is not a flag of etcd 3.6; did you mean max-txn-ops?',
    ],
    members: [],
  },
  {
    name: "what is asked for has no shape",
    given: cluster({ spec: { podTemplate: null as never } }),
    says: ["False", "SpecRefused", "spec.podTemplate is null; it must be an object"],
    members: [],
  },
  {
    name: "etcd has yet to be asked to go back",
    given: cluster({ spec: { version: "3.5.35" } }),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
    members: [],
  },
  {
    name: "a release is asked for that members cannot go to",
    given: cluster({ spec: { version: "3.4.35" } }),
    says: [
      "False",
      "NoVersionPath",
      expect.stringMatching(/^spec\.version is refused: from 3\.6\.16 to 3\.4\.35 goes back/),
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
    name: "a pod is not there, and one ends, and one does not say what it was made from",
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
      "my-etcd-0 has no pod; my-etcd-1 has a pod that is about to end; my-etcd-2 has a pod that does not say yet what it was made from",
    ],
    members: [],
  },
  {
    name: "a member that is on its way in runs it, too",
    given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "synced"),
    says: ["True", "UpToDate", "4 of 4 members run what the spec asks for"],
    members: [...ALL, "my-etcd-3"],
  },
  {
    name: "a person has added a member: nobody asks what that one runs",
    given: withMember(settled, THEIRS),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "what members are to show is not there yet",
    given: goingTo(secured(), THEIR_PEER),
    says: changing(
      "tls.peer: members go on with what they show, since what they are to show is not good yet: Secret foo/their-peer, what members show to each other, is not there; make it, with tls.crt, tls.key and ca.crt",
    ),
    members: ALL,
  },
  {
    name: "clients have yet to hear of what members are to show",
    given: running(withMade(goingTo(secured(), THEIR_CLIENT), { server: BY_THEM, operator: BY_THEM })),
    says: changing(
      "tls.client: members trust what they are to show, and clients come to do so: ConfigMap my-etcd-ca has to say for 150 s whom clients are to trust besides",
    ),
    members: ALL,
  },
  {
    name: "members show what is asked for, and trust the former one as well",
    given: shownAndBelieved(),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
  },
  {
    name: "members are to get certificates that are not there",
    given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), { peer: absent, server: absent }),
    says: changing(
      "tls.peer: members go on without until their certificates are there; tls.client: members go on without until their certificates are there",
    ),
  },
  {
    name: "somebody else's member could dial nobody over TLS",
    given: withMember(switching({}, ["both", "both", "both"], "2026-01-01T11:59:00Z"), THEIRS),
    says: changing("tls.peer: members are reached without TLS until each of them can dial the others over it"),
  },
  {
    name: "members are on their way back, and somebody is listed as reached over TLS",
    given: listedBy(switching({ peer: { provider: "None" } }, ["both", "both", "both"]), "https", ["my-etcd-1"]),
    says: changing("tls.peer: members keep their certificates until each of them is reached without"),
  },
  {
    name: "clients are served both ways for their time",
    given: switching({}, ["reached", "reached", "reached"], "2026-01-01T11:59:00Z"),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
  },
];

function changing(words: string): [string, Reason, string] {
  const count = "3 of 3 members run what the spec asks for as far as it can be given to them";
  return ["False", "CertificatesChanging", `${count}; ${words}`];
}

/** Clients are shown the other one, and NAME-client is signed by the former authority. */
function shownAndBelieved(): ClusterSnapshot {
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
  test(`up to date: when ${name}, it says so`, () => {
    const { conditions, members: told } = statusOf(given);
    const { status, reason, message } = conditions!.find(({ type }) => type === "UpToDate")!;
    expect([status, reason, message]).toEqual(says);
    if (members !== undefined) expect(told!.filter((each) => each.upToDate).map((each) => each.name)).toEqual(members);
  });
}

test("up to date: nobody is not everybody", () => {
  expect(upToDate({ snapshot: settled, own: [] })).toMatchObject({ status: "False", reason: "Forming" });
});

test("up to date: of a member that a person added nothing is said", () => {
  expect(statusOf(withMember(settled, THEIRS)).members!.at(-1)).not.toHaveProperty("upToDate");
});

test("up to date: it speaks of the edit that it has seen, so that nobody who waits takes what was before for an answer", () => {
  const edited = wanting(NEWER);
  const before = statusOf(settled);
  const live = { ...edited.cluster, metadata: { ...edited.cluster.metadata, generation: 2 }, status: before };
  const { observedGeneration, conditions } = statusOf({ ...edited, cluster: live });
  const told = (all = conditions) => all!.find(({ type }) => type === "UpToDate");
  expect(told(before.conditions)).toMatchObject({ status: "True", observedGeneration: 1 });
  expect(observedGeneration).toBe(2);
  expect(told()).toMatchObject({ status: "False", observedGeneration: 2 });
});
