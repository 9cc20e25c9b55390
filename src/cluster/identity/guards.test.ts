import { expect, test } from "vitest";
import { RESTORED_FROM } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { intendedPeer, joiningPeer, newPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import {
  claim,
  claimIdentity,
  cluster,
  endpointStatus,
  LATER_ID,
  open,
  withArrival,
  withoutMember,
} from "#kit/snapshots/cluster.ts";
import { withStraggler } from "#kit/snapshots/cluster-changes.ts";
import { asking, identity, STEPS, settled, withoutList } from "#kit/snapshots/cluster-steps.ts";
import { type GuardCase, promised } from "#kit/tables/guard-promises.ts";
import * as guards from "./guards.ts";

/** The snapshot in which this member answers. */
function answering(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const id = identity.initialMembers.find((member) => member.name === name)!.id;
  const status = endpointStatus(identity.clusterID, id, id);
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints, [name, present(status)]]) };
}

const FROM_BACKUP = { bootstrap: { fromBackup: { source: { backupName: "nightly" } } } };

/** The cluster with this token in its status. */
function recordedAs(token: string): ClusterSnapshot {
  const status = { ...settled.cluster.status, identity: { ...identity, token } };
  return { ...settled, cluster: { ...settled.cluster, status } };
}

/** A cluster adopted from claims, without a quorum yet, with these additional claims. */
function adopting(more: ClusterSnapshot["claims"]): ClusterSnapshot {
  const status = { ...settled.cluster.status, identity: { ...identity, adopting: true } };
  const claims = [...settled.claims, ...more];
  return { ...withoutList(settled), claims, cluster: { ...settled.cluster, status } };
}

function withLater(recorded: typeof identity & { adopting: boolean }) {
  return { ...recorded, initialMembers: [...recorded.initialMembers, { name: "my-etcd-3", id: "f00", joined: true }] };
}

const unjoined = { ...identity, initialMembers: identity.initialMembers.map((each) => ({ ...each, joined: false })) };

const partly = {
  ...identity,
  initialMembers: identity.initialMembers.map((each, n) => ({ ...each, joined: n === 0 })),
};

/** Two first members have joined. The third is not recorded as joined, and does not answer. */
function straggling(given: { listed: boolean; started: boolean }): ClusterSnapshot {
  const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), given);
  return given.listed ? straggler : withoutMember(straggler, "my-etcd-2");
}

const FOUNDING: readonly string[] = ["writeTls", "recordIdentity", "createRestore"];

promised(guards, {
  "identity-first": [
    {
      name: "an identity may be recorded for a new cluster",
      given: cluster({ stage: "new" }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "the member of a later claim may be added to an adopted identity",
      given: adopting([claim("my-etcd-3", claimIdentity(identity.clusterID, "f00"))]),
      step: { do: "recordIdentity", identity: withLater({ ...identity, adopting: true }) },
      is: "allowed",
    },
    {
      name: "a member without a claim is not added to an adopted identity",
      given: adopting([]),
      step: { do: "recordIdentity", identity: withLater({ ...identity, adopting: true }) },
      is: "forbidden",
    },
    {
      name: "no second EtcdPeer with the same member ID is created",
      given: settled,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", identity.initialMembers[1]!.id) },
      is: "forbidden",
    },
    {
      name: "the EtcdPeer of a member may be recreated under its own name",
      given: settled,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-1", identity.initialMembers[1]!.id) },
      is: "allowed",
    },
    {
      name: "a second EtcdPeer without a member ID may be created",
      given: withArrival(settled, "my-etcd-4", "intended"),
      step: { do: "createPeer", peer: intendedPeer(settled, identity, "my-etcd-3") },
      is: "allowed",
    },
    { name: "a second identity is not recorded", given: settled, step: STEPS.recordIdentity, is: "forbidden" },
    ...Object.values(STEPS)
      .filter(({ do: kind }) => !FOUNDING.includes(kind))
      .flatMap((step): readonly GuardCase[] => [
        { name: `${step.do} is refused without an identity`, given: cluster({ stage: "new" }), step, is: "forbidden" },
        { name: `${step.do} is allowed with an identity`, given: settled, step, is: "allowed" },
      ]),
    {
      name: "an EtcdRestore may be created before the identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createRestore,
      is: "allowed",
    },
    {
      name: "an EtcdRestore is not created after the identity",
      given: settled,
      step: STEPS.createRestore,
      is: "forbidden",
    },
    {
      name: "default TLS may be written before the identity",
      given: open(cluster({ stage: "new" })),
      step: STEPS.writeTls,
      is: "allowed",
    },
    {
      name: "default TLS is not written after the identity, even without spec.tls",
      given: open(settled),
      step: STEPS.writeTls,
      is: "forbidden",
    },
  ],
  "identity-is-here": [
    {
      name: "an identity of another namespace is not recorded",
      given: cluster({ stage: "new" }),
      step: { do: "recordIdentity", identity: { ...identity, token: "prod/my-etcd/uid-of-cluster" } },
      is: "forbidden",
    },
    {
      name: "an identity of this namespace and name may be recorded",
      given: cluster({ stage: "new" }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "steps are allowed without a recorded identity",
      given: cluster({ stage: "new" }),
      step: STEPS.writeTls,
      is: "allowed",
    },
    ...Object.values(STEPS)
      .filter(({ do: kind }) => kind !== "recordIdentity")
      .map(
        (step): GuardCase => ({
          name: `${step.do} is refused with a status copied from another name`,
          given: recordedAs("foo/other/uid-of-cluster"),
          step,
          is: "forbidden",
        }),
      ),
    {
      name: "members may be created with an identity of this namespace and name",
      given: settled,
      step: STEPS.createPeer,
      is: "allowed",
    },
  ],
  "restored-first": [
    {
      name: "a cluster with spec.bootstrap does not start empty",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "a cluster with an unknown kind of spec.bootstrap does not start empty",
      given: asking(cluster({ stage: "new" }), { bootstrap: {} }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "a cluster with spec.bootstrap may start with claims that hold data",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "a cluster with spec.bootstrap may start when only one claim holds data",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: partly },
      is: "allowed",
    },
    {
      name: "a restored cluster does not start empty",
      given: cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "a restored cluster may start with claims that hold data",
      given: cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "a cluster without a backup to restore may start empty",
      given: cluster({ stage: "new" }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "allowed",
    },
    {
      name: "the guard does not apply to other steps",
      given: asking(settled, FROM_BACKUP),
      step: STEPS.createService,
      is: "allowed",
    },
  ],
  "tls-is-decided": [
    {
      name: "default TLS may be written while spec.tls is unset",
      given: open(cluster({ stage: "new" })),
      step: STEPS.writeTls,
      is: "allowed",
    },
    {
      name: "a spec.tls that a user set is not overwritten",
      given: cluster({ stage: "new" }),
      step: STEPS.writeTls,
      is: "forbidden",
    },
    {
      name: "default TLS is not written into an existing cluster",
      given: open(settled),
      step: STEPS.writeTls,
      is: "forbidden",
    },
    {
      name: "default TLS is not written when a kept claim has http",
      given: open(cluster({ stage: "new", with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] } })),
      step: STEPS.writeTls,
      is: "forbidden",
    },
    {
      name: "no identity is recorded while spec.tls is unset",
      given: open(cluster({ stage: "new" })),
      step: STEPS.recordIdentity,
      is: "forbidden",
    },
    {
      name: "no EtcdRestore is created while spec.tls is unset",
      given: open(cluster({ stage: "new" })),
      step: STEPS.createRestore,
      is: "forbidden",
    },
    {
      name: "an EtcdRestore may be created when spec.tls is set",
      given: cluster({ stage: "new" }),
      step: STEPS.createRestore,
      is: "allowed",
    },
    {
      name: "an identity may be recorded when spec.tls is set",
      given: cluster({ stage: "new" }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "the guard does not apply to other steps",
      given: open(cluster({ stage: "new" })),
      step: STEPS.createService,
      is: "allowed",
    },
  ],
  "bootstrap-once": [
    {
      name: "a first member that has never joined may bootstrap",
      given: cluster({ stage: "starting" }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "the EtcdPeer of a joined member is not replaced by one that bootstraps",
      given: settled,
      step: { ...STEPS.replacePeer, peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "the EtcdPeer of a joined member is not recreated with bootstrap flags",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "the guard does not apply to a member that joins an existing cluster",
      given: settled,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "a first member may bootstrap in a formed cluster while etcd lists it as not started",
      given: straggling({ listed: true, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "a first member that etcd lists as started must not bootstrap, even if not recorded as joined",
      given: straggling({ listed: true, started: true }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "a first member that etcd no longer lists must not bootstrap in a formed cluster",
      given: straggling({ listed: false, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "no member bootstraps in a formed cluster without a member list",
      given: withoutList(straggling({ listed: true, started: false })),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "no member outside the list of first members may bootstrap",
      given: cluster({ stage: "starting", spec: { replicas: 5 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-3") },
      is: "forbidden",
    },
  ],
  "joined-is-seen": [
    {
      name: "a first member may be recorded as joined when it answers",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0"] },
      is: "allowed",
    },
    {
      name: "my-etcd-1 may be recorded as joined when only my-etcd-1 answers",
      given: answering(cluster({ stage: "starting" }), "my-etcd-1"),
      step: { do: "recordJoined", names: ["my-etcd-1"] },
      is: "allowed",
    },
    {
      name: "a silent first member may be recorded as joined when etcd lists it as started",
      given: straggling({ listed: true, started: true }),
      step: { do: "recordJoined", names: ["my-etcd-2"] },
      is: "allowed",
    },
    {
      name: "a silent first member is not recorded as joined when another member answers",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0", "my-etcd-1"] },
      is: "forbidden",
    },
    {
      name: "a member outside the list of first members is not recorded as joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-3"] },
      is: "forbidden",
    },
  ],
});

test("identity-is-here: the refusal of another namespace's identity advises to restore a backup", () => {
  const step = { do: "recordIdentity", identity: { ...identity, token: "prod/my-etcd/uid-of-cluster" } } as const;
  expect(guards.identityIsHere.forbids(cluster({ stage: "new" }), step)).toMatch(
    /^status.identity has .*restore a backup/,
  );
});
