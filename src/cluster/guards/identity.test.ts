import { RESTORED_FROM } from "#api/names.ts";
import { present } from "#base/observed.ts";
import { joiningPeer, newPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/identity.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { claim, claimIdentity, cluster, endpointStatus, LATER_ID, open, withoutMember } from "#kit/cluster.ts";
import { withStraggler } from "#kit/cluster-changes.ts";
import { asking, identity, STEPS, settled, withoutList } from "#kit/cluster-steps.ts";
import { promised } from "#kit/guard-promises.ts";

/** The snapshot in which this member answers. */
function answering(snapshot: ClusterSnapshot, name: string): ClusterSnapshot {
  const id = identity.initialMembers.find((member) => member.name === name)!.id;
  const status = endpointStatus(identity.clusterID, id, id);
  return { ...snapshot, endpoints: new Map([...snapshot.endpoints, [name, present(status)]]) };
}

const FROM_BACKUP = { bootstrap: { fromBackup: { backupName: "nightly" } } };

const unjoined = { ...identity, initialMembers: identity.initialMembers.map((each) => ({ ...each, joined: false })) };

const partly = {
  ...identity,
  initialMembers: identity.initialMembers.map((each, n) => ({ ...each, joined: n === 0 })),
};

/** Two first members have joined; the third has not, as far as is on record, and does not answer. */
function straggling(given: { listed: boolean; started: boolean }): ClusterSnapshot {
  const straggler = withStraggler(cluster({ down: ["my-etcd-2"] }), given);
  return given.listed ? straggler : withoutMember(straggler, "my-etcd-2");
}

promised(guards, {
  "identity-first": [
    {
      name: "the identity comes first",
      given: cluster({ stage: "new" }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    { name: "there is no second identity", given: settled, step: STEPS.recordIdentity, is: "forbidden" },
    {
      name: "nothing is made without an identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createService,
      is: "forbidden",
    },
    { name: "with an identity all the rest may be made", given: settled, step: STEPS.createService, is: "allowed" },
    {
      name: "data is asked for before there is an identity",
      given: cluster({ stage: "new" }),
      step: STEPS.createRestore,
      is: "allowed",
    },
    { name: "and never afterwards", given: settled, step: STEPS.createRestore, is: "forbidden" },
    {
      name: "whether it speaks TLS is said before there is an identity",
      given: open(cluster({ stage: "new" })),
      step: STEPS.writeTls,
      is: "allowed",
    },
    {
      name: "and never afterwards, whatever spec.tls is by then",
      given: open(settled),
      step: STEPS.writeTls,
      is: "forbidden",
    },
  ],
  "restored-first": [
    {
      name: "what is to begin with a snapshot does not begin with nothing",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "it begins with claims that hold data",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "one claim that holds data is enough: who has none forms the cluster with it",
      given: asking(cluster({ stage: "new" }), FROM_BACKUP),
      step: { do: "recordIdentity", identity: partly },
      is: "allowed",
    },
    {
      name: "nor does what a restore has made",
      given: cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "forbidden",
    },
    {
      name: "it begins with what was restored",
      given: cluster({ stage: "new", annotations: { [RESTORED_FROM]: "uid-of-restore" } }),
      step: STEPS.recordIdentity,
      is: "allowed",
    },
    {
      name: "all others may begin with nothing",
      given: cluster({ stage: "new" }),
      step: { do: "recordIdentity", identity: unjoined },
      is: "allowed",
    },
    {
      name: "all the rest is none of its business",
      given: asking(settled, FROM_BACKUP),
      step: STEPS.createService,
      is: "allowed",
    },
  ],
  "tls-is-said": [
    { name: "what is open is said", given: open(cluster({ stage: "new" })), step: STEPS.writeTls, is: "allowed" },
    { name: "what a person has said stays", given: cluster({ stage: "new" }), step: STEPS.writeTls, is: "forbidden" },
    { name: "a cluster that is there keeps what it has", given: open(settled), step: STEPS.writeTls, is: "forbidden" },
    {
      name: "data of members that reach each other by http says it",
      given: open(cluster({ stage: "new", with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] } })),
      step: STEPS.writeTls,
      is: "forbidden",
    },
    {
      name: "no identity is written while it is open",
      given: open(cluster({ stage: "new" })),
      step: STEPS.recordIdentity,
      is: "forbidden",
    },
    {
      name: "nothing is restored while it is open",
      given: open(cluster({ stage: "new" })),
      step: STEPS.createRestore,
      is: "forbidden",
    },
    { name: "with it, both may be", given: cluster({ stage: "new" }), step: STEPS.createRestore, is: "allowed" },
    { name: "and the identity, too", given: cluster({ stage: "new" }), step: STEPS.recordIdentity, is: "allowed" },
    {
      name: "all the rest is for others to judge",
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
      name: "whose peer is replaced, having joined, may not bootstrap again",
      given: settled,
      step: { ...STEPS.replacePeer, peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "whose peer is made again, having joined, may not bootstrap again",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-0") },
      is: "forbidden",
    },
    {
      name: "who joins a cluster that is there does not bootstrap",
      given: settled,
      step: { do: "createPeer", peer: joiningPeer(settled, identity, "my-etcd-3", LATER_ID) },
      is: "allowed",
    },
    {
      name: "when the cluster has formed without it, a first member may still come while etcd lists it as not started",
      given: straggling({ listed: true, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "allowed",
    },
    {
      name: "whom etcd lists as started may not bootstrap, whatever is on record",
      given: straggling({ listed: true, started: true }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "whom the formed cluster does not list may not bootstrap",
      given: straggling({ listed: false, started: false }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "when nobody knows whom the formed cluster lists, nobody bootstraps",
      given: withoutList(straggling({ listed: true, started: false })),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-2") },
      is: "forbidden",
    },
    {
      name: "nobody outside the frozen list may bootstrap",
      given: cluster({ stage: "starting", spec: { replicas: 5 } }),
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-3") },
      is: "forbidden",
    },
  ],
  "joined-is-seen": [
    {
      name: "who has answered has joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0"] },
      is: "allowed",
    },
    {
      name: "each is asked by its own name",
      given: answering(cluster({ stage: "starting" }), "my-etcd-1"),
      step: { do: "recordJoined", names: ["my-etcd-1"] },
      is: "allowed",
    },
    {
      name: "whom etcd lists as started has joined, also when it is silent",
      given: straggling({ listed: true, started: true }),
      step: { do: "recordJoined", names: ["my-etcd-2"] },
      is: "allowed",
    },
    {
      name: "that one has answered says nothing of another",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-0", "my-etcd-1"] },
      is: "forbidden",
    },
    {
      name: "who is not in the frozen list has not joined",
      given: answering(cluster({ stage: "starting" }), "my-etcd-0"),
      step: { do: "recordJoined", names: ["my-etcd-3"] },
      is: "forbidden",
    },
  ],
});
