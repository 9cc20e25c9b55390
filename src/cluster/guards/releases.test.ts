import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { newPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/releases.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { cluster } from "#kit/cluster.ts";
import { recording, answering as saying, withPeer, saying as words } from "#kit/cluster-rolling.ts";
import { crashing, creating, giving, identity, restarting, STEPS, settled } from "#kit/cluster-steps.ts";
import { promised } from "#kit/guard-promises.ts";
import type { Draft } from "#kube/kinds.ts";

/** The first member is down, and ran what nobody else runs any more. */
function lastOf(version: string): ClusterSnapshot {
  return recording(saying(cluster({ down: ["my-etcd-0"] }), undefined, "3.7.1", "3.7.1"), version, "3.7.1", "3.7.1");
}

/** The last one says that its data can be read by etcd 3.5. */
const converted = words(settled, "my-etcd-2", { downgradeTo: "3.5.0", storageVersion: "3.5.0" });

const sentBack = withPeer(settled, "my-etcd-2", { spec: { version: "3.5.35" } });

const HARMFUL = { "force-new-cluster": "true" };

function withFlags(peer: Draft<EtcdPeer>, extraArgs: Readonly<Record<string, string>>): Draft<EtcdPeer> {
  return withOptions(peer, { extraArgs });
}

function withOptions(peer: Draft<EtcdPeer>, etcd: object): Draft<EtcdPeer> {
  return { ...peer, spec: { ...peer.spec!, etcd } };
}

promised(guards, {
  "runnable-only": [
    {
      name: "what a member can run may reach it",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "flags that would break it reach nobody who is made",
      given: settled,
      step: { do: "createPeer", peer: withFlags(newPeer(settled, identity, "my-etcd-1"), HARMFUL) },
      is: "forbidden",
    },
    {
      name: "nor does what is not of the right shape",
      given: settled,
      step: { do: "createPeer", peer: withOptions(newPeer(settled, identity, "my-etcd-1"), { snapshotCount: "many" }) },
      is: "forbidden",
    },
    {
      name: "nor anybody who is there",
      given: settled,
      step: { do: "replacePeer", live: settled.peers[0]!, peer: withFlags(settled.peers[0]!, HARMFUL) },
      is: "forbidden",
    },
    {
      name: "who has them already is fenced all the same",
      given: settled,
      step: {
        do: "replacePeer",
        live: withFlags(settled.peers[0]!, HARMFUL) as EtcdPeer,
        peer: withFlags(settled.peers[0]!, HARMFUL),
      },
      is: "allowed",
    },
    { name: "what is no EtcdPeer is none of its business", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "version-path": [
    {
      name: "a member restarts with the release that it has",
      given: settled,
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a member without an EtcdPeer is for others to judge",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with a release that there is no way to any more",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "what another member is to run is its own business",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "a member may not get the minor before the one before",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    {
      name: "who has a release already may get something else with it, whether or not there is a way",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: giving(withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }), "my-etcd-2", "3.4.35"),
      is: "allowed",
    },
    {
      name: "nobody gets an EtcdPeer with a release that there is no way to",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.4.35" }),
      is: "forbidden",
    },
    {
      name: "who ran the minor before last gets it back with its EtcdPeer",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }),
      is: "allowed",
    },
    {
      name: "nobody else gets it",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "what is on record is no reason to give it to a member that has an EtcdPeer",
      given: recording(settled, "3.6.16", "3.6.16", "3.4.35"),
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    { name: "everybody gets one with what the cluster runs", given: settled, step: STEPS.createPeer, is: "allowed" },
    {
      name: "a new EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    { name: "what is about no EtcdPeer is for others to judge", given: settled, step: STEPS.stopUpdate, is: "allowed" },
    {
      name: "an EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
  "downgrade-enabled": [
    { name: "a member restarts with the release that it has", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "a member without an EtcdPeer is for others to judge",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with the minor before",
      given: sentBack,
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "unless its data can be read by it",
      given: withPeer(converted, "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "nobody restarts with the next minor while data is in the format of the one before",
      given: withPeer(converted, "my-etcd-1", { spec: { version: "3.7.1" } }),
      step: restarting(converted, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor is anybody given it",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.7.1"),
      is: "forbidden",
    },
    {
      name: "what another member is to run is its own business",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a pod in which nothing runs is made anew all the same",
      given: withPeer(recording(crashing, "3.6.16", "3.6.16", "3.6.16"), "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: restarting(crashing, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member may not get the minor before",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "unless its data can be read by it by now",
      given: converted,
      step: giving(converted, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "what another one says does not count",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "as long as a member runs that minor, the others may get it",
      given: saying(settled, "3.5.30", "3.6.16", "3.6.16"),
      step: giving(saying(settled, "3.5.30", "3.6.16", "3.6.16"), "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "who has a release already may get something else with it",
      given: sentBack,
      step: giving(sentBack, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "who ran the minor before gets it back with its EtcdPeer",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }),
      is: "allowed",
    },
    {
      name: "nobody else gets it",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "nor does who is to join",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-3"),
      is: "forbidden",
    },
    {
      name: "unless a member runs it",
      given: saying(settled, "3.6.16", "3.7.1", "3.7.1"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.17" }, "my-etcd-3"),
      is: "allowed",
    },
    { name: "everybody gets one with what the cluster runs", given: settled, step: STEPS.createPeer, is: "allowed" },
    {
      name: "a new EtcdPeer of which nothing is said is for others to judge",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    { name: "what is about no EtcdPeer is for others to judge", given: settled, step: STEPS.stopUpdate, is: "allowed" },
  ],
});
