import { isTlsOpen } from "#cluster/default-tls.ts";
import { peerIn } from "#cluster/guards/touched.ts";
import { hasJoined, mayBootstrap } from "#cluster/members.ts";
import { identityOf, restoredFrom } from "#cluster/snapshot.ts";
import type { ClusterGuard } from "#cluster/step.ts";

/** Nothing of a cluster is made before its identity is on record, and the identity is never written a second time. */
export const identityFirst: ClusterGuard = {
  name: "identity-first",
  forbids(snapshot, step) {
    const recorded = identityOf(snapshot);
    if (step.do === "recordIdentity") {
      return recorded === undefined ? undefined : `the cluster is ${recorded.clusterID} already`;
    }
    if (step.do === "writeTls") return recorded === undefined ? undefined : "the cluster has been made already";
    if (step.do === "createRestore") return recorded === undefined ? undefined : "the cluster has its data already";
    return recorded === undefined ? "the cluster's identity is not on record" : undefined;
  },
};

/** A cluster that is to begin with a stored snapshot, or was made of one, never begins with nothing: it is only ever what its claims say. */
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
 * Whether a cluster speaks TLS is written by the operator only before the cluster is made, and only when nobody has said it; and no cluster is made
 * as long as nobody has.
 */
export const tlsIsSaid: ClusterGuard = {
  name: "tls-is-said",
  forbids(snapshot, step) {
    const isOpen = isTlsOpen(snapshot);
    if (step.do === "writeTls") return isOpen ? undefined : "it is said already whether the cluster speaks TLS";
    if (step.do !== "recordIdentity" && step.do !== "createRestore") return undefined;
    return isOpen ? "nobody has said yet whether the cluster speaks TLS" : undefined;
  },
};

/**
 * A cluster is bootstrapped once in its life: only by members of the frozen list, each only until it has joined, and once the
 * cluster has formed only while etcd lists it as one that has not started.
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

/** A member counts as joined only when it has just answered as who it is on record, or etcd has just listed it as started. */
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
