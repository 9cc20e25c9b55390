import type { MemberTemplate } from "#api/revision.ts";
import { providerOf, type Side } from "#api/tls.ts";
import { vouches } from "#certificates/trust.ts";
import { formerTls, lookedAt } from "#cluster/certificates/former.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { SHOWN_ON, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { mountedIn, REACHED_MS, secretsInUse, withoutBelief } from "#cluster/certificates/trusted.ts";
import { isInTime, isUnasked, isWithheld, seen } from "#cluster/certificates/usable.ts";
import { peerIn, restartedBy } from "#cluster/guards/touched.ts";
import { unbelieving } from "#cluster/guards/trust.ts";
import { type ClusterSnapshot, peerNamed } from "#cluster/snapshot.ts";
import type { ClusterGuard, ClusterStep } from "#cluster/step.ts";

/**
 * Nobody gets another Secret than those that the cluster asks for, or has on record as in use; and none that somebody else fills and that is not for
 * EtcdClusters, unless members of the cluster have it already.
 */
export const allowedSecrets: ClusterGuard = {
  name: "allowed-secrets",
  forbids(given, step) {
    const peer = peerIn(step);
    if (peer?.spec === undefined) return undefined;
    const snapshot = keptTls(given);
    for (const side of SIDES) {
      const secretName = peer.spec.tls?.[side]?.secretName;
      if (secretName === undefined || secretsInUse(snapshot, side).has(secretName)) continue;
      if (!isAllowed(snapshot, side, secretName)) return `Secret ${secretName} is not known to be for EtcdClusters`;
    }
    return undefined;
  },
};

/** Whether it is what is asked for, or what the cluster has on record as in use; and if somebody else is to fill it, whether it is withheld from nobody. */
function isAllowed(snapshot: ClusterSnapshot, side: Side, secretName: string): boolean {
  const views = [snapshot, formerTls(snapshot)].flatMap((each) => each ?? []);
  const view = views.find(({ cluster }) => secretNameOf(cluster, SHOWN_ON[side]) === secretName);
  if (view === undefined) return false;
  if (providerOf(view.cluster.spec, side) !== "Secret") return true;
  const facts = seen(view, SHOWN_ON[side]);
  // What was seen may be of the Secret that was asked for before.
  return facts?.secretName === secretName && isWithheld(view, SHOWN_ON[side], facts) === false;
}

/** Nobody comes to show what another Secret holds before all members believe it, and it is good. */
export const shownWhenTrusted: ClusterGuard = {
  name: "shown-when-trusted",
  forbids(given, step) {
    const snapshot = keptTls(given);
    for (const side of SIDES) {
      const secretName = comesToShow(snapshot, step, side);
      const found = secretName === undefined ? undefined : lookedAt(snapshot, side, secretName);
      if (secretName === undefined) continue;
      if (found?.is !== "present") return `nobody knows what is in Secret ${secretName}`;
      const { trouble } = found.value;
      if (trouble !== undefined) return `Secret ${secretName}: ${trouble}`;
      if (!isInTime(snapshot, found.value)) return `the time of Secret ${secretName} is over, or has not come`;
      const why = isPeersOrAsked(snapshot, side) ? unbelieving(snapshot, side, found.value) : undefined;
      if (why !== undefined) return why;
    }
    return undefined;
  },
};

/** Whether members ask who shows it to them: of what they show to clients they do, as their own clients. */
function isPeersOrAsked(snapshot: ClusterSnapshot, side: Side): boolean {
  return side === "peer" || !isUnasked(snapshot, "operator");
}

/** The Secret that a member comes to show by the step, where it is another one than it shows by now. */
function comesToShow(snapshot: ClusterSnapshot, step: ClusterStep, side: Side): string | undefined {
  if (step.do === "restartPod") {
    const next = peerNamed(snapshot, step.name)?.spec.tls?.[side]?.secretName;
    const shown = mountedIn(step.pod, side);
    return shown === undefined || shown === next ? undefined : next;
  }
  if (step.do !== "replacePeer") return undefined;
  const [next, before] = [step.peer.spec, step.live.spec].map((spec) => spec?.tls?.[side]?.secretName);
  return before === undefined || before === next ? undefined : next;
}

/**
 * While members show each other what some of them do not believe, nobody restarts who runs, and nobody is given up: whoever came back would be out.
 * Nor while what they are to show is of no use; who seems lost while they get something new may only not have it yet. And nobody restarts who runs
 * while what it is to show then is not there, be it for the others or for clients, or is of no use to clients: it would not come up.
 */
export const stillBelieved: ClusterGuard = {
  name: "still-believed",
  forbids(given, step) {
    const snapshot = keptTls(given);
    const isRestart = restartedBy(snapshot, step) !== undefined;
    const isGivenUp = step.do === "markRemoval" && step.removal !== undefined && step.removal !== "scale-down";
    if (!(isRestart || isGivenUp)) return undefined;
    const why = isRestart ? whyNotUp(snapshot, toShow(snapshot, step)) : undefined;
    if (why !== undefined) return why;
    // What nobody shows yet is no matter: members come to trust it first.
    for (const secretName of secretsInUse(snapshot, "peer")) {
      const found = lookedAt(snapshot, "peer", secretName);
      // Those who run go on with what was there, and a restart may be what they get something else by.
      if (found?.is !== "present") continue;
      const { trouble, knownForMs } = found.value;
      if (trouble !== undefined) return `Secret ${secretName}, what members show to each other: ${trouble}`;
      if (isGivenUp && knownForMs < REACHED_MS)
        return `members may not have yet what is in Secret ${secretName}, which they show to each other`;
      const names = withoutBelief(snapshot, "peer", found.value);
      if (names.length > 0) return `${names.join(", ")} would not believe what members show to each other`;
    }
    return undefined;
  },
};

const TO_SHOW = {
  peer: "what members show to each other",
  client: "what the member is to show to clients",
} as const;

/** Why a member would not come up with what it is to show, if that is so. What members show to each other the others are asked of, too. */
function whyNotUp(snapshot: ClusterSnapshot, next: MemberTemplate["tls"]): string | undefined {
  for (const side of SIDES) {
    const { secretName, trust } = next?.[side] ?? {};
    if (secretName === undefined || trust === undefined) continue;
    const found = lookedAt(snapshot, side, secretName);
    const subject = `Secret ${secretName}, ${TO_SHOW[side]}`;
    if (found?.is === "absent") return `${subject}, is not there: its pod would not start`;
    if (found?.is !== "present") continue;
    if (found.value.trouble !== undefined) return `${subject}: ${found.value.trouble}`;
    // By what it shows to clients the kubelet asks it whether it serves.
    if (!vouches(trust, found.value)) return `${subject}, is signed by whom the member would not trust itself`;
  }
  return undefined;
}

/** What a member shows after its restart. */
function toShow(snapshot: ClusterSnapshot, step: ClusterStep): MemberTemplate["tls"] {
  const spec = step.do === "restartPod" ? peerNamed(snapshot, step.name)?.spec : peerIn(step)?.spec;
  return spec?.tls;
}
