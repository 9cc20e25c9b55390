import { pausedBy } from "#api/pause.ts";
import { lifeOf, providerOf } from "#api/tls.ts";
import { isLate } from "#certificates/late.ts";
import { sleeps } from "#cluster/lifecycle/sleep.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";
import { AUTHORITY_LIFE } from "#cluster-tls/change/ca-rotation.ts";
import { previousTls } from "#cluster-tls/effective/previous.ts";
import { isManagedByPrevious } from "#cluster-tls/effective/previous-problems.ts";
import { isAuthority, purposesOf, sideOf } from "#cluster-tls/read/purposes.ts";
import { isIssuedHere, seen } from "#cluster-tls/read/usable.ts";
import { endText, WHAT_FOR } from "#cluster-tls/read/words.ts";

/**
 * Remaining part of the life of a certificate of provider Secret at which `TLSReady` and `Ready` become False: 3 of 90
 * days. Larger: a healthy cluster is not Ready before an ordinary renewal. Smaller: people have less time to act.
 */
const SECRET_PART = 1 / 30;

interface Late {
  readonly text: string;
  /** Whether `TLSReady` and `Ready` are False for it. */
  readonly isGrave: boolean;
  /** Which of the operator's own it is: a pause, or a sleep, can keep both from being renewed. `undefined` for one of another issuer. */
  readonly own: "CA" | "leaf" | undefined;
}

/** The certificates and CAs in use that should have been renewed long ago, and what to do in a pause; `undefined` when there are none. */
export function lateText(snapshot: ClusterSnapshot): string | undefined {
  return textOf(snapshot, lateIn(snapshot));
}

/** The part of `lateText` for which `TLSReady` and `Ready` are False: a certificate of provider Secret counts only close to its end. */
export function graveText(snapshot: ClusterSnapshot): string | undefined {
  return textOf(
    snapshot,
    lateIn(snapshot).filter(({ isGrave }) => isGrave),
  );
}

function lateIn(snapshot: ClusterSnapshot): readonly Late[] {
  const previous = previousTls(snapshot);
  const left = previous && purposesOf(previous.cluster).filter((purpose) => isManagedByPrevious(snapshot, purpose));
  return [...lateOf(previous, left ?? []), ...lateOf(snapshot, purposesOf(snapshot.cluster))];
}

function textOf(snapshot: ClusterSnapshot, late: readonly Late[]): string | undefined {
  if (late.length === 0) return undefined;
  // A Secret may be in use and asked for.
  const texts = new Set(late.map(({ text }) => text));
  const kinds = late.map(({ own }) => own);
  const kind = kinds.includes("CA") ? "CA" : kinds.find((own) => own !== undefined);
  return `${[...texts].join("; ")}, and has not been renewed${kind === undefined ? "" : adviceOn(snapshot, kind)}`;
}

/** What may keep the operator from rotating a CA, or renewing a certificate, and how to end that; "" when nothing does. */
function adviceOn(snapshot: ClusterSnapshot, kind: "CA" | "leaf"): string {
  const paused = pausedBy(snapshot.cluster);
  const isCa = kind === "CA";
  const renewed = "; the operator renews it only with a CA that every member trusts while";
  if (paused !== undefined)
    return isCa
      ? `; members restart for a new CA, which waits while ${paused}: end the pause`
      : `${renewed} ${paused}: end the pause`;
  if (!sleeps(snapshot)) return "";
  return isCa
    ? "; a new CA waits until members run again: set spec.replicas to 1 or more"
    : `${renewed} the cluster sleeps: set spec.replicas to 1 or more`;
}

/** @param view the snapshot by which these certificates are managed */
function lateOf(view: ClusterSnapshot | undefined, purposes: readonly Purpose[]): readonly Late[] {
  if (view === undefined) return [];
  const { cluster, takenAtMs } = view;
  return purposes.flatMap((purpose) => {
    const found = seen(view, purpose);
    if (found === undefined || found.notAfterMs === 0) return [];
    const life = isAuthority(purpose) ? AUTHORITY_LIFE : lifeOf(cluster.spec, sideOf(purpose));
    if (!isLate(found, life, takenAtMs)) return [];
    const verb = found.notAfterMs <= takenAtMs ? "has expired" : "expires";
    const text = `Secret ${found.secretName}, ${WHAT_FOR[purpose]}, ${verb} at ${endText(purpose, found)}`;
    const isUserProvided = providerOf(cluster.spec, sideOf(purpose)) === "Secret";
    const isGrave = !isUserProvided || found.notAfterMs - takenAtMs <= found.lifeMs * SECRET_PART;
    const own = isAuthority(purpose) ? "CA" : "leaf";
    return [{ text, isGrave, own: isIssuedHere(view, purpose) ? own : undefined }];
  });
}
