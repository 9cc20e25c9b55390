import { REMOVAL_ANNOTATION } from "#api/names.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import type { EtcdPeer } from "#api/v1beta1/peer.ts";
import { absent, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { type MemberId, memberId } from "#etcd/types.ts";
import type { ConfigMap, PodMonitor, Service } from "#kube/kinds.ts";
import { restarted, withDowngrade, withLeader, withMembers, withoutAlarm, withoutMember } from "./model-etcd.ts";
import { changedStored, stored } from "./model-objects.ts";

// What is the model?
//   The effect of a step on a snapshot, if nothing fails: what the API server stores and what etcd answers.
//   Consequences, such as a pod that starts, are in model-kubernetes.ts. Verified against the simulation
//   (test/simulation/simulation-forecast.test.ts).

/** The snapshot after this step, or why it cannot be predicted. Pure, and never throws. */
export function after(snapshot: ClusterSnapshot, step: ClusterStep): ClusterSnapshot | string {
  switch (step.do) {
    case "writeTls":
    case "recordIdentity":
    case "createRestore":
      return "the cluster has yet to form";
    case "stopUpdate":
      return "a member has not started, and the forecast assumes that nothing fails";
    case "issueAuthority":
    case "rotateAuthority":
    case "issueLeaf":
    case "spreadTrust":
    case "publishClientSecret":
    case "createRequest":
    case "replaceRequest":
      return "what will be issued is not known in advance";
    case "createRootSecret":
    case "setRootPassword":
    case "addUser":
    case "grantRole":
    case "enableAuth":
    case "disableAuth":
      return "users of etcd are not in the forecast";
    case "recordJoined":
      return joined(snapshot, step.names);
    case "fallAsleep":
      return withSleep(snapshot, { startTime: rfc3339(snapshot.takenAtMs) });
    case "wakeUp":
      return withSleep(snapshot, {
        startTime: "",
        ...snapshot.cluster.status?.sleep,
        wakeTime: rfc3339(snapshot.takenAtMs),
      });
    case "createService":
      return withService(snapshot, stored<Service>(step.service));
    case "replaceService":
      return withService(snapshot, stored(step.service, step.live));
    case "createBudget":
      return { ...snapshot, budget: stored(step.budget) };
    case "replaceBudget":
      return { ...snapshot, budget: stored(step.budget, step.live) };
    case "deleteBudget":
      return { ...snapshot, budget: undefined };
    case "createNetworkPolicy":
      return { ...snapshot, networkPolicy: stored(step.policy) };
    case "replaceNetworkPolicy":
      return { ...snapshot, networkPolicy: stored(step.policy, step.live) };
    case "deleteNetworkPolicy":
      return { ...snapshot, networkPolicy: undefined };
    case "createMonitor":
      return { ...snapshot, podMonitor: present(stored<PodMonitor>(step.monitor)) };
    case "replaceMonitor":
      return { ...snapshot, podMonitor: present(stored<PodMonitor>(step.monitor, step.live)) };
    case "deleteMonitor":
      return { ...snapshot, podMonitor: absent };
    case "createTrustMap":
      return withTrustMap(snapshot, stored<ConfigMap>(step.map));
    case "replaceTrustMap":
      return withTrustMap(snapshot, stored<ConfigMap>(step.map, step.live));
    case "createPeer":
      return { ...snapshot, peers: [...snapshot.peers, stored<EtcdPeer>(step.peer)] };
    case "replacePeer":
      return withPeer(snapshot, step.live, stored(step.peer, step.live));
    case "markRemoval": {
      const { [REMOVAL_ANNOTATION]: _, ...others } = step.peer.metadata.annotations ?? {};
      const annotations = step.removal === undefined ? others : { ...others, [REMOVAL_ANNOTATION]: step.removal };
      return withPeer(snapshot, step.peer, changedStored(step.peer, { annotations }));
    }
    case "releaseClaim": {
      const finalizers = [...(step.peer.metadata.finalizers ?? []), step.finalizer];
      return withPeer(snapshot, step.peer, changedStored(step.peer, { finalizers }));
    }
    case "deletePeer": {
      // The deletionTimestamp lasts until the owned objects are gone: model-kubernetes.ts removes the EtcdPeer at once.
      const deletionTimestamp = rfc3339(snapshot.takenAtMs);
      return withPeer(snapshot, step.peer, changedStored(step.peer, { deletionTimestamp }));
    }
    case "createBackup":
      return { ...snapshot, sourceBackups: [...snapshot.sourceBackups, completed(snapshot, stored(step.backup))] };
    case "restartPod":
      return restarted(snapshot, step.name);
    case "addLearner": {
      const member = { id: newId(snapshot), name: "", peerUrls: [step.peerUrl], clientUrls: [], isLearner: true };
      return withMembers(snapshot, (members) => [...members, member]);
    }
    case "promote":
      return withMembers(snapshot, (members) =>
        members.map((member) => (member.id === step.id ? { ...member, isLearner: false } : member)),
      );
    case "updateMember":
      return withMembers(snapshot, (members) =>
        members.map((member) => (member.id === step.id ? { ...member, peerUrls: [step.peerUrl] } : member)),
      );
    case "removeMember":
      return withoutMember(snapshot, step.name, step.id);
    case "disarmAlarm":
      return withoutAlarm(snapshot, step);
    case "enableDowngrade":
      return withDowngrade(snapshot, `${step.to}.0`);
    case "cancelDowngrade":
      return withDowngrade(snapshot, undefined);
    case "moveLeader":
      return withLeader(snapshot, step.id);
  }
}

function withSleep(snapshot: ClusterSnapshot, sleep: NonNullable<EtcdClusterStatus["sleep"]>): ClusterSnapshot {
  return { ...snapshot, cluster: { ...snapshot.cluster, status: { ...snapshot.cluster.status, sleep } } };
}

function joined(snapshot: ClusterSnapshot, names: readonly string[]): ClusterSnapshot {
  const { status } = snapshot.cluster;
  if (status?.identity === undefined) return snapshot;
  const initialMembers = status.identity.initialMembers.map((member) =>
    names.includes(member.name) ? { ...member, joined: true } : member,
  );
  const identity = { ...status.identity, initialMembers };
  return { ...snapshot, cluster: { ...snapshot.cluster, status: { ...status, identity } } };
}

/** Only the headless Service has no address of its own. */
function withService(snapshot: ClusterSnapshot, service: Service): ClusterSnapshot {
  const isHeadless = service.spec?.clusterIP === "None";
  return isHeadless ? { ...snapshot, headlessService: service } : { ...snapshot, clientService: service };
}

function withTrustMap(snapshot: ClusterSnapshot, map: ConfigMap): ClusterSnapshot {
  return { ...snapshot, certificates: { ...snapshot.certificates, trustMap: present(map) } };
}

function completed({ takenAtMs }: ClusterSnapshot, backup: EtcdBackup): EtcdBackup {
  return { ...backup, status: { phase: "Completed", completionTime: rfc3339(takenAtMs) } };
}

function withPeer(snapshot: ClusterSnapshot, live: EtcdPeer, peer: EtcdPeer): ClusterSnapshot {
  return { ...snapshot, peers: snapshot.peers.map((each) => (each === live ? peer : each)) };
}

/** An ID that no member has: the one that etcd will give is not known in advance. */
function newId({ members }: ClusterSnapshot): MemberId {
  const taken = new Set<bigint>(members.is === "present" ? members.value.members.map(({ id }) => id) : []);
  let id = 1n;
  while (taken.has(id)) id++;
  return memberId(id);
}
