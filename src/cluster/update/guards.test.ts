import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import {
  recording,
  answering as saying,
  withPeer,
  withReadableEntries,
  saying as words,
} from "#kit/snapshots/cluster-rolling.ts";
import { crashing, creating, giving, identity, restarting, STEPS, settled } from "#kit/snapshots/cluster-steps.ts";
import { promised } from "#kit/tables/guard-promises.ts";
import type { Draft } from "#kube/kinds.ts";
import * as guards from "./guards.ts";

/** The first member is down, and ran a release that no other member runs. */
function lastOf(version: string): ClusterSnapshot {
  return begin(cluster({ down: ["my-etcd-0"] }))
    .apply(saying, undefined, "3.7.1", "3.7.1")
    .apply(recording, version, "3.7.1", "3.7.1").snapshot;
}

/** The last member reports that etcd 3.5 can read its data. */
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
      name: "a valid template is allowed",
      given: settled,
      step: { do: "createPeer", peer: newPeer(settled, identity, "my-etcd-1") },
      is: "allowed",
    },
    {
      name: "invalid flags are forbidden for a new member",
      given: settled,
      step: { do: "createPeer", peer: withFlags(newPeer(settled, identity, "my-etcd-1"), HARMFUL) },
      is: "forbidden",
    },
    {
      name: "an invalid shape is forbidden",
      given: settled,
      step: { do: "createPeer", peer: withOptions(newPeer(settled, identity, "my-etcd-1"), { snapshotCount: "many" }) },
      is: "forbidden",
    },
    {
      name: "invalid flags are forbidden for an existing member",
      given: settled,
      step: { do: "replacePeer", live: settled.peers[0]!, peer: withFlags(settled.peers[0]!, HARMFUL) },
      is: "forbidden",
    },
    {
      name: "a member that already has invalid flags may be replaced with the same flags",
      given: settled,
      step: {
        do: "replacePeer",
        live: withFlags(settled.peers[0]!, HARMFUL) as EtcdPeer,
        peer: withFlags(settled.peers[0]!, HARMFUL),
      },
      is: "allowed",
    },
    { name: "steps for other objects are allowed", given: settled, step: STEPS.createService, is: "allowed" },
  ],
  "version-path": [
    {
      name: "a member restarts with its own release",
      given: settled,
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a restart of a member without an EtcdPeer is allowed",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "no restart with an unreachable release",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "a restart is allowed when only another member has an unreachable release",
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
      name: "a member may not get a release two minors back",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    {
      name: "a member that already has an unreachable release may get other changes",
      given: withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }),
      step: giving(withPeer(settled, "my-etcd-2", { spec: { version: "3.4.35" } }), "my-etcd-2", "3.4.35"),
      is: "allowed",
    },
    {
      name: "no new EtcdPeer with an unreachable release",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.4.35" }),
      is: "forbidden",
    },
    {
      name: "a member that ran a release two minors back gets its EtcdPeer again",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }),
      is: "allowed",
    },
    {
      name: "no other member gets a release two minors back",
      given: lastOf("3.5.35"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a member with an EtcdPeer does not get an unreachable release from its record",
      given: recording(settled, "3.6.16", "3.6.16", "3.4.35"),
      step: giving(settled, "my-etcd-2", "3.4.35"),
      is: "forbidden",
    },
    {
      name: "each member gets an EtcdPeer with the release of the cluster",
      given: settled,
      step: STEPS.createPeer,
      is: "allowed",
    },
    {
      name: "a new EtcdPeer without a spec is allowed",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    {
      name: "steps without an EtcdPeer are allowed",
      given: settled,
      step: STEPS.stopUpdate,
      is: "allowed",
    },
    {
      name: "a replaced EtcdPeer without a spec is allowed",
      given: settled,
      step: { ...STEPS.replacePeer, peer: { ...STEPS.replacePeer.peer, spec: undefined } } as never,
      is: "allowed",
    },
  ],
  "downgrade-enabled": [
    { name: "a member restarts with its own release", given: settled, step: STEPS.restartPod, is: "allowed" },
    {
      name: "a restart of a member without an EtcdPeer is allowed",
      given: { ...settled, peers: [] },
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "no restart with the previous minor",
      given: sentBack,
      step: STEPS.restartPod,
      is: "forbidden",
    },
    {
      name: "a member with converted data restarts with the previous minor",
      given: withPeer(converted, "my-etcd-2", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "no restart with the next minor while data is in the previous format",
      given: withPeer(converted, "my-etcd-1", { spec: { version: "3.7.1" } }),
      step: restarting(converted, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "no member gets the next minor while data is in the previous format",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.7.1"),
      is: "forbidden",
    },
    {
      name: "a restart is allowed when only another member has the previous minor",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.5.35" } }),
      step: STEPS.restartPod,
      is: "allowed",
    },
    {
      name: "a pod that is down may be recreated with the previous minor",
      given: begin(crashing)
        .apply(recording, "3.6.16", "3.6.16", "3.6.16")
        .apply(withPeer, "my-etcd-2", { spec: { version: "3.5.35" } }).snapshot,
      step: restarting(crashing, "my-etcd-2"),
      is: "allowed",
    },
    {
      name: "a member may not get the previous minor",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "a member with converted data may get the previous minor",
      given: converted,
      step: giving(converted, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "a member may not get the previous minor when only another member's data is converted",
      given: converted,
      step: giving(converted, "my-etcd-1", "3.5.35"),
      is: "forbidden",
    },
    {
      name: "a member may get the previous minor while another runs it",
      given: saying(settled, "3.5.30", "3.6.16", "3.6.16"),
      step: giving(saying(settled, "3.5.30", "3.6.16", "3.6.16"), "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "a member may get the next minor",
      given: withReadableEntries(settled),
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "allowed",
    },
    {
      name: "no member gets the next minor while raft logs may have unreadable entries",
      given: settled,
      step: giving(settled, "my-etcd-2", "3.7.1"),
      is: "forbidden",
    },
    {
      name: "no member restarts with the next minor while raft logs may have unreadable entries",
      given: withPeer(settled, "my-etcd-1", { spec: { version: "3.7.1" } }),
      step: restarting(settled, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a member that already has the previous minor may get other changes",
      given: sentBack,
      step: giving(sentBack, "my-etcd-2", "3.5.35"),
      is: "allowed",
    },
    {
      name: "a member that ran the previous minor gets its EtcdPeer again",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }),
      is: "allowed",
    },
    {
      name: "no other member gets the previous minor",
      given: lastOf("3.6.16"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.16" }, "my-etcd-1"),
      is: "forbidden",
    },
    {
      name: "a joining member does not get the previous minor",
      given: settled,
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.5.35" }, "my-etcd-3"),
      is: "forbidden",
    },
    {
      name: "a joining member gets the previous minor when a member runs it",
      given: saying(settled, "3.6.16", "3.7.1", "3.7.1"),
      step: creating({ ...STEPS.createPeer.peer.spec!, version: "3.6.17" }, "my-etcd-3"),
      is: "allowed",
    },
    {
      name: "each member gets an EtcdPeer with the release of the cluster",
      given: settled,
      step: STEPS.createPeer,
      is: "allowed",
    },
    {
      name: "a new EtcdPeer without a spec is allowed",
      given: settled,
      step: creating(undefined),
      is: "allowed",
    },
    {
      name: "steps without an EtcdPeer are allowed",
      given: settled,
      step: STEPS.stopUpdate,
      is: "allowed",
    },
  ],
});
