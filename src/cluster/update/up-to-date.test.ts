import { expect, test } from "vitest";
import type { Reason } from "#api/conditions.ts";
import { absent } from "#base/observed.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { clusterStatus } from "#cluster/status.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
import { switching } from "#kit/snapshots/scheme-change.ts";
import { upToDate } from "./up-to-date.ts";

const ALL = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const settled = cluster();
const turning = begin(wanting(NEWER))
  .apply(withUpdated, "my-etcd-1", "my-etcd-2")
  .apply(withTurn, "my-etcd-0").snapshot;
const onDelete = wanting(NEWER, { spec: ON_DELETE });
const UNKNOWN_FLAG = { etcd: { extraArgs: { "max-txn-op": "1" } } };

const THEIR_PEER = { peer: { provider: "Secret", secret: { name: "their-peer" } } };
const THEIR_CLIENT = {
  client: {
    provider: "Secret",
    secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
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
    name: "the spec is written differently with the same meaning",
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
    name: "one member has a pending restart",
    given: turning,
    says: ["False", "Rolling", "2 of 3 members run what the spec asks for"],
    members: ["my-etcd-1", "my-etcd-2"],
  },
  {
    name: "all members have restarted, and the last one is not fit yet",
    given: begin(wanting(NEWER))
      .apply(withUpdated, "my-etcd-0", "my-etcd-1")
      .apply(withCanary, "my-etcd-2")
      .apply(withUpdate).snapshot,
    says: ["False", "Rolling", "3 of 3 members run what the spec asks for; waiting for my-etcd-2"],
    members: ALL,
  },
  {
    name: "all members are updated and fit",
    given: withUpdated(wanting(NEWER), ...ALL),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "the only member without the update is down",
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
    name: "two members wait with OnDelete until a person deletes their pods",
    given: begin(onDelete).apply(withUpdated, "my-etcd-2").apply(withTurn, "my-etcd-1").apply(withTurn, "my-etcd-0")
      .snapshot,
    says: [
      "False",
      "WaitsForDeletion",
      "1 of 3 members run what the spec asks for; my-etcd-0, my-etcd-1 get what the spec asks for when their pods are deleted",
    ],
    members: ["my-etcd-2"],
  },
  {
    name: "the last member waits with OnDelete until a person deletes its pod",
    given: begin(onDelete).apply(withUpdated, "my-etcd-1", "my-etcd-2").apply(withTurn, "my-etcd-0").snapshot,
    says: [
      "False",
      "WaitsForDeletion",
      "2 of 3 members run what the spec asks for; my-etcd-0 gets what the spec asks for when its pod is deleted",
    ],
  },
  {
    name: "the only member runs what the spec asks for",
    given: cluster({ replicas: 1 }),
    says: ["True", "UpToDate", "1 of 1 members run what the spec asks for"],
    members: ["my-etcd-0"],
  },
  {
    name: "not all EtcdPeers have the wanted template yet, with OnDelete",
    given: withTurn(onDelete, "my-etcd-2"),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
  },
  {
    name: "the cluster is paused during an update",
    given: { ...turning, cluster: { ...turning.cluster, spec: { ...turning.cluster.spec, paused: true } } },
    says: [
      "False",
      "Paused",
      "2 of 3 members run what the spec asks for; nothing is changed while spec.paused is true; my-etcd-0 has yet to restart, and drains may have to wait for it",
    ],
  },
  {
    name: "the cluster is paused and nothing has changed",
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
    name: "spec.version cannot be reached from the running release",
    given: cluster({ spec: { version: "3.4.35" } }),
    says: [
      "False",
      "NoVersionPath",
      expect.stringMatching(/^spec\.version is refused: from 3\.6\.16 to 3\.4\.35 is a downgrade/),
    ],
    members: [],
  },
  {
    name: "the spec asks for the next minor",
    given: wanting(NEXT_MINOR),
    says: ["False", "Rolling", "0 of 3 members run what the spec asks for"],
  },
  {
    name: "the cluster is being created",
    given: cluster({ stage: "starting" }),
    says: ["False", "Forming", "the cluster is being created"],
  },
  {
    name: "the cluster is being deleted",
    given: cluster({ deleting: true }),
    says: ["False", "Deleting", "the cluster is being deleted"],
  },
  {
    name: "one pod is missing, one is terminating and one has no recorded revision",
    given: begin(settled)
      .apply(withoutPod, "my-etcd-0")
      .apply(withPod, "my-etcd-1", {
        metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" },
      })
      .apply(madeFrom, "my-etcd-2", undefined).snapshot,
    says: [
      "False",
      "Waiting",
      "my-etcd-0 has no pod; my-etcd-1 has a terminating pod; my-etcd-2 has a pod without a recorded template revision",
    ],
    members: [],
  },
  {
    name: "all members, including a joining one, run what the spec asks for",
    given: withArrival(cluster({ spec: { replicas: 4 } }), "my-etcd-3", "synced"),
    says: ["True", "UpToDate", "4 of 4 members run what the spec asks for"],
    members: [...ALL, "my-etcd-3"],
  },
  {
    name: "another member was added by hand",
    given: withMember(settled, THEIRS),
    says: ["True", "UpToDate", "3 of 3 members run what the spec asks for"],
    members: ALL,
  },
  {
    name: "the requested peer certificate is missing",
    given: goingTo(secured(), THEIR_PEER),
    says: changing(
      "tls.peer: members keep their certificates, since the requested ones cannot be used yet: Secret foo/their-peer, the peer certificate of members, is missing; create it, with tls.crt, tls.key and ca.crt",
    ),
    members: ALL,
  },
  {
    name: "clients do not trust the CA of the new certificates yet",
    given: begin(secured())
      .apply(goingTo, THEIR_CLIENT)
      .apply(withMade, { server: BY_THEM, operator: BY_THEM })
      .apply(running).snapshot,
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
    name: "TLS is switched on and the certificates of members do not exist yet",
    given: withSeen(switching({}, ["nothing", "nothing", "nothing"]), { peer: absent, server: absent }),
    says: changing(
      "tls.peer: members run without TLS until their certificates exist; tls.client: members run without TLS until their certificates exist",
    ),
  },
  {
    name: "a member that was added by hand may not be able to dial over TLS",
    given: withMember(switching({}, ["both", "both", "both"], "2026-01-01T11:59:00Z"), THEIRS),
    says: changing("tls.peer: members keep http peer URLs until every member can dial over TLS"),
  },
  {
    name: "TLS is switched off while a member still has an https peer URL",
    given: listedBy(switching({ peer: { provider: "None" } }, ["both", "both", "both"]), "https", ["my-etcd-1"]),
    says: changing("tls.peer: members keep their certificates until every peer URL is http"),
  },
  {
    name: "members have TLS and clients may still use both http and https",
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
  const turned = begin(secured())
    .apply(goingTo, THEIR_CLIENT)
    .apply(withMade, { server: BY_THEM, operator: BY_THEM }).snapshot;
  const { tls } = turned.peers[0]!.spec;
  const client = { secretName: "their-server", trust, clientCertificates: "Required" as const };
  return running(turned, undefined, { ...tls!, client });
}

function statusOf(given: ClusterSnapshot) {
  return clusterStatus(given, planCluster(given));
}

for (const { name, given, says, members } of cases) {
  test(`UpToDate is ${says[0]} with reason ${says[1]} when ${name}`, () => {
    const { conditions, members: told } = statusOf(given);
    const { status, reason, message } = conditions!.find(({ type }) => type === "UpToDate")!;
    expect([status, reason, message]).toEqual(says);
    if (members !== undefined) expect(told!.filter((each) => each.upToDate).map((each) => each.name)).toEqual(members);
  });
}

test("UpToDate is False with reason Forming when the cluster has no members", () => {
  expect(upToDate({ snapshot: settled, own: [] })).toMatchObject({ status: "False", reason: "Forming" });
});

test("a member that was added by hand has no field upToDate in the status", () => {
  expect(statusOf(withMember(settled, THEIRS)).members!.at(-1)).not.toHaveProperty("upToDate");
});

test("UpToDate has the observed generation, so that a client can wait for its edit", () => {
  const edited = wanting(NEWER);
  const before = statusOf(settled);
  const live = { ...edited.cluster, metadata: { ...edited.cluster.metadata, generation: 2 }, status: before };
  const { observedGeneration, conditions } = statusOf({ ...edited, cluster: live });
  const told = (all = conditions) => all!.find(({ type }) => type === "UpToDate");
  expect(told(before.conditions)).toMatchObject({ status: "True", observedGeneration: 1 });
  expect(observedGeneration).toBe(2);
  expect(told()).toMatchObject({ status: "False", observedGeneration: 2 });
});
