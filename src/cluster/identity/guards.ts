import { isSameData } from "#base/hash.ts";
import { extendedIdentity, whyNotHere } from "#cluster/identity/desired/identity.ts";
import { hasJoined, mayBootstrap } from "#cluster/members/members.ts";
import { type ClusterSnapshot, identityOf, restoredFrom } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";
import { hasTrait } from "#cluster/step-traits.ts";
import { peerIn } from "#cluster/touched.ts";
import { isTlsOpen } from "#cluster-tls/effective/default-tls.ts";

/**
 * Nothing of a cluster is created before its identity is recorded. A recorded identity never changes, except that
 * members are added when their claims appear later. No two EtcdPeers have the same member ID.
 */
export const identityFirst: ClusterGuard = {
  name: "identity-first",
  forbids(snapshot, step) {
    const recorded = identityOf(snapshot);
    if (hasTrait(step, "stage", "founding")) {
      const isExtension = step.do === "recordIdentity" && isSameData(step.identity, extendedIdentity(snapshot));
      return recorded === undefined || isExtension
        ? undefined
        : `the cluster has been made already, as ${recorded.clusterID}`;
    }
    return recorded === undefined ? "the cluster's identity is not on record" : whyTwin(snapshot, step);
  },
};

/** Why the EtcdPeer that the step creates would be a second one of the same member. */
function whyTwin({ peers }: ClusterSnapshot, step: ClusterStep): string | undefined {
  if (step.do !== "createPeer" || step.peer.spec?.memberID === undefined) return undefined;
  const { name } = step.peer.metadata;
  const { memberID } = step.peer.spec;
  const twin = peers.find(({ metadata, spec }) => spec.memberID === memberID && metadata.name !== name);
  return (
    twin && `EtcdPeer ${twin.metadata.name} has member ID ${memberID} already, and ${name} would run as the same member`
  );
}

/**
 * Nothing is done for a cluster with the recorded identity of another namespace or name: its status was copied. Its
 * members would join the cluster that it was copied from. Nor is such an identity recorded.
 */
export const identityIsHere: ClusterGuard = {
  name: "identity-is-here",
  forbids(snapshot, step) {
    const identity = step.do === "recordIdentity" ? step.identity : identityOf(snapshot);
    const why = identity === undefined ? undefined : whyNotHere(snapshot, identity.token);
    return why && `status.identity has ${why}: delete this EtcdCluster and its EtcdPeers, and restore a backup instead`;
  },
};

/**
 * A cluster that starts from a stored snapshot, or was created from one, never starts empty: its identity only comes
 * from its claims.
 */
export const restoredFirst: ClusterGuard = {
  name: "restored-first",
  forbids(snapshot, step) {
    if (step.do !== "recordIdentity") return undefined;
    if (snapshot.cluster.spec.bootstrap === undefined && restoredFrom(snapshot) === undefined) return undefined;
    return step.identity.initialMembers.some(({ joined }) => joined)
      ? undefined
      : "no claim holds the data of a snapshot";
  },
};

/**
 * The operator writes spec.tls only before the cluster exists, and only when it is missing. No cluster is created
 * without it.
 */
export const tlsIsDecided: ClusterGuard = {
  name: "tls-is-decided",
  forbids(snapshot, step) {
    const isOpen = isTlsOpen(snapshot);
    if (step.do === "writeTls") return isOpen ? undefined : "spec.tls is set already, or the cluster exists";
    return isOpen && hasTrait(step, "stage", "founding") ? "spec.tls is not set yet" : undefined;
  },
};

/**
 * A cluster bootstraps once in its life: only with members of the frozen list, each until it has joined. Once the
 * cluster has formed, only while etcd lists the member as not started.
 */
export const bootstrapOnce: ClusterGuard = {
  name: "bootstrap-once",
  forbids(snapshot, step) {
    const peer = peerIn(step);
    if (peer?.spec?.bootstrap?.initialClusterState !== "New") return undefined;
    const { name } = peer.metadata;
    const initial = identityOf(snapshot)?.initialMembers.find((member) => member.name === name);
    if (initial === undefined) return `${name} is not in the frozen list of first members`;
    if (initial.joined) return `${name} has joined; on an empty volume it would forget what it acknowledged`;
    return mayBootstrap(snapshot, initial)
      ? undefined
      : `the cluster has formed, and etcd does not list ${name} as yet to start`;
  },
};

/**
 * A member counts as joined only when it has just answered with its recorded IDs, or etcd has just listed it as
 * started.
 */
export const joinedIsSeen: ClusterGuard = {
  name: "joined-is-seen",
  forbids(snapshot, step) {
    if (step.do !== "recordJoined") return undefined;
    const unseen = step.names.find((name) => {
      const member = identityOf(snapshot)?.initialMembers.find((initial) => initial.name === name);
      return member === undefined || !hasJoined(snapshot, member);
    });
    return unseen === undefined ? undefined : `${unseen} has not answered as part of this cluster`;
  },
};
