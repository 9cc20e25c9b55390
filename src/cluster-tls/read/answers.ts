import { TRUST_FILE } from "#api/names.ts";
import { isSameData } from "#base/hash.ts";
import { type Observed, present } from "#base/observed.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { isOverdue as isRenewalOverdue } from "#certificates/request.ts";
import { MINUTELY_MS } from "#cluster/observe/rest.ts";
import type { SeenCertificate, SeenCertificates, SeenRequest } from "#cluster/snapshot.ts";
import { REACHED_MS } from "#cluster-tls/check/trusted.ts";
import { type ConfigMap, controllerOf } from "#kube/kinds.ts";
import {
  abandonedPurpose,
  type Given,
  isAbandoned,
  isMadeHere,
  isPrevious,
  isRequest,
  nameOf,
  previousPurpose,
  purposeOf,
  type What,
} from "./objects.ts";

// Answers of the API server about one object, how long each is valid, and the observation made from them.

/** How long the answer that an object does not exist is valid, in milliseconds. */
export const ABSENT_MS = 2_000;
/**
 * How long that answer is valid for an object that the operator itself creates, in milliseconds. If another writer
 * creates it, the operator's create fails and the object is read again.
 */
export const UNMADE_MS = 10_000;
/**
 * How long the answer is valid that the name is taken by an object of another owner or of none, in milliseconds. Such
 * an object may be that of a deleted cluster of the same name.
 */
export const IN_THE_WAY_MS = 10_000;
/** How often a missing right is tried again, in milliseconds: it may be granted at any moment. */
export const REFUSED_MS = 10_000;
/** A certificate that expires within this time is read more often, in milliseconds: it is about to be renewed. */
const SOON_MS = 60 * 60_000;

export type Answer = Observed<SeenCertificate> | Observed<ConfigMap> | SeenRequest;

export interface Known {
  readonly answer: Answer;
  readonly atMs: number;
  /** Since when the answer is equivalent to this one. */
  readonly sinceMs: number;
  /** Since when the certificate has this signer. */
  readonly signerSinceMs: number;
  /** When it was last read or written, with whatever result. */
  readonly askedMs: number;
  /** The last error since reading was forbidden, of whatever kind. Undefined when it may be read. */
  readonly refused?: string | undefined;
}

/** A Secret that does not exist and is not needed. */
export const NO_CLIENT_SECRET: Answer = { is: "absent" };

/**
 * How long the answer is valid, in milliseconds; infinite when the object is only read in turn.
 * @param isAwaited whether an unsuitable object is waited for
 * @param wallMs the wall clock, for certificate times
 */
export function lastsMs(answer: Answer | undefined, isAwaited: boolean, wallMs: number): number {
  if (answer === undefined || answer.is === "unknown") return 0;
  if (answer === NO_CLIENT_SECRET) return Number.POSITIVE_INFINITY;
  if (answer.is === "absent" || answer.is === "notServed") return ABSENT_MS;
  if (!("fingerprint" in answer.value)) {
    const isOverdue = "spec" in answer.value && isRenewalOverdue(answer.value, wallMs);
    return isOverdue ? MINUTELY_MS : Number.POSITIVE_INFINITY;
  }
  const { trouble, notAfterMs, mayBeShown } = answer.value;
  if (isAwaited && !mayBeShown) return ABSENT_MS;
  const isCalm = trouble === undefined && notAfterMs - wallMs > SOON_MS;
  return isCalm ? Number.POSITIVE_INFINITY : MINUTELY_MS;
}

/**
 * Whether the object should be the operator's own, and belongs to another owner or to none. The garbage collector or a
 * user may be about to delete it.
 */
export function isInTheWay(given: Given, what: What, answer: Answer | undefined): boolean {
  if (answer?.is !== "present" || isRequest(what)) return false;
  const { value } = answer;
  const ownerUid = "fingerprint" in value ? value.ownerUid : controllerOf(value)?.uid;
  return ownerUid !== given.cluster.metadata.uid && isMadeHere(given, what);
}

/** Whether the answer is about another Secret than the one requested now. */
export function isOfAnother(given: Given, what: What, answer: Answer): boolean {
  if (what === "trustMap" || isRequest(what) || answer.is !== "present" || !("fingerprint" in answer.value))
    return false;
  return answer.value.secretName !== nameOf(given, what);
}

/** Whether the answer is that a Secret of another name does not exist: nothing is known of the one requested now. */
export function isMissedByAnotherName(before: Given, given: Given, what: What, answer: Answer): boolean {
  if (what === "trustMap" || isRequest(what) || answer.is !== "absent") return false;
  return nameOf(before, what) !== nameOf(given, what);
}

/**
 * The observation from all answers.
 * @param nowMs the monotonic clock that dated the answers
 */
export function seenIn(known: ReadonlyMap<What, Known>, nowMs: number): SeenCertificates {
  const seen: Record<string, unknown> = {};
  const requests: Record<string, unknown> = {};
  const [previous, abandoned]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const [what, { answer, sinceMs, signerSinceMs }] of known) {
    const isCertificate = answer.is === "present" && "fingerprint" in answer.value;
    const times = { knownForMs: nowMs - sinceMs, signerForMs: nowMs - signerSinceMs };
    const observed = isCertificate ? present({ ...answer.value, ...times }) : answer;
    if (isRequest(what)) requests[purposeOf(what)] = observed;
    else if (isPrevious(what)) previous[previousPurpose(what)] = observed;
    else if (isAbandoned(what)) abandoned[abandonedPurpose(what)] = observed;
    else seen[what] = observed;
    if (what === "trustMap" && answer.is === "present") seen.trustMapForMs = nowMs - sinceMs;
  }
  const refused = refusedIn(known);
  if (refused !== undefined) seen.refused = refused;
  const some = Object.entries({ previous, abandoned }).filter(([, each]) => Object.keys(each).length > 0);
  const additional = Object.fromEntries(some);
  return { ...seen, ...additional, requests } as SeenCertificates;
}

/** The error of an object that could be read before. A missing right comes before a transient error. */
function refusedIn(known: ReadonlyMap<What, Known>): string | undefined {
  // An object that was never read has the error in its answer.
  const whys = [...known.values()].flatMap(({ answer, refused }) =>
    refused === undefined || answer.is === "unknown" ? [] : [refused],
  );
  return whys.find((why) => missingRightText(why) !== undefined) ?? whys.at(0);
}

export function signerIn(answer: Answer): string | undefined {
  return answer.is === "present" && "fingerprint" in answer.value ? answer.value.signerId : undefined;
}

/** Whether both answers have the same trust, and the same certificate or a timely renewal of it. */
export function saysSame(a: Answer, b: Answer, nowMs: number): boolean {
  if (a.is !== "present" || b.is !== "present") return false;
  if ("data" in a.value && "data" in b.value) return a.value.data?.[TRUST_FILE] === b.value.data?.[TRUST_FILE];
  if (!("fingerprint" in a.value) || !("fingerprint" in b.value)) return false;
  if (a.value.trust !== b.value.trust) return false;
  return a.value.fingerprint === b.value.fingerprint || isRenewal(a.value, b.value, nowMs);
}

/**
 * A renewal changes nothing for clients while the previous certificate is valid for long enough. Otherwise a
 * short-lived certificate would never count as known for long.
 */
function isRenewal(before: CertificateFacts, now: CertificateFacts, nowMs: number): boolean {
  const whatFor = ({ signerId, names, usages, trouble }: CertificateFacts) => ({ signerId, names, usages, trouble });
  const isGood = now.signerId !== undefined && now.trouble === undefined && isSameData(whatFor(before), whatFor(now));
  return isGood && before.notAfterMs - nowMs >= REACHED_MS;
}
