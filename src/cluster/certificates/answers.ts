import { TRUST_FILE } from "#api/names.ts";
import { isSameData } from "#base/hash.ts";
import { type Observed, present } from "#base/observed.ts";
import type { CertificateFacts } from "#certificates/facts.ts";
import { missingRightText } from "#certificates/missing-right.ts";
import { isOverdue as isRenewalOverdue } from "#certificates/request.ts";
import {
  betweenPurpose,
  formerPurpose,
  type Given,
  isBetween,
  isFormer,
  isMadeHere,
  isRequest,
  nameOf,
  purposeOf,
  type What,
} from "#cluster/certificates/objects.ts";
import { REACHED_MS } from "#cluster/certificates/trusted.ts";
import { MINUTELY_MS } from "#cluster/rest.ts";
import type { SeenCertificate, SeenCertificates, SeenRequest } from "#cluster/snapshot.ts";
import type { ConfigMap } from "#kube/kinds.ts";

// What the API server said of an object, how long that is good, and what is seen by it.

/** So old an answer may be that something is not there, in milliseconds. */
export const ABSENT_MS = 2_000;
/** The same of what the operator makes itself, in milliseconds: should somebody else make it, the creation is refused, and it is read anew. */
export const UNMADE_MS = 10_000;
/** The same of what has the name of the operator's own, and belongs to somebody else, such as a cluster of the name before that is gone. */
export const IN_THE_WAY_MS = 10_000;
/** After this it is asked again whether the right to read something is missing, which people may grant at any moment, in milliseconds. */
export const REFUSED_MS = 10_000;
/** What ends within this is read more often, in milliseconds: somebody is to renew it. */
const SOON_MS = 60 * 60_000;

export type Answer = Observed<SeenCertificate> | Observed<ConfigMap> | SeenRequest;

export interface Known {
  readonly answer: Answer;
  readonly atMs: number;
  /** Since when it says the same. */
  readonly sinceMs: number;
  /** Since when it is signed by whom it is. */
  readonly signerSinceMs: number;
  /** When it was last asked for, or told, whatever came of it. */
  readonly askedMs: number;
  /** Since it was refused nobody has read it: what was said last, of whatever kind. undefined when it may be read. */
  readonly refused?: string | undefined;
}

/** What is not there, and need not be. */
export const NOT_HANDED_OUT: Answer = { is: "absent" };

/**
 * How old the answer may be, in milliseconds; infinite when it is only read again in its turn.
 * @param isAwaited whether what is not as it should be is waited for @param wallMs the time that certificates go by
 */
export function lastsMs(answer: Answer | undefined, isAwaited: boolean, wallMs: number): number {
  if (answer === undefined || answer.is === "unknown") return 0;
  if (answer === NOT_HANDED_OUT) return Number.POSITIVE_INFINITY;
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

/** Whether it is to be the operator's own, and belongs to somebody else: the garbage collector may be about to take it. */
export function isInTheWay(given: Given, what: What, answer: Answer | undefined): boolean {
  if (answer?.is !== "present" || !("fingerprint" in answer.value)) return false;
  const { ownerUid } = answer.value;
  return ownerUid !== undefined && ownerUid !== given.cluster.metadata.uid && isMadeHere(given, what);
}

/** Whether it was said of another Secret than the one that is asked for by now. */
export function isOfAnother(given: Given, what: What, answer: Answer): boolean {
  if (what === "trustMap" || isRequest(what) || answer.is !== "present" || !("fingerprint" in answer.value))
    return false;
  return answer.value.secretName !== nameOf(given, what);
}

/** Whether it is a Secret of another name that was not there: of the one that is asked for now nothing is known. */
export function isMissedByAnotherName(before: Given, given: Given, what: What, answer: Answer): boolean {
  if (what === "trustMap" || isRequest(what) || answer.is !== "absent") return false;
  return nameOf(before, what) !== nameOf(given, what);
}

/** What all answers tell. @param nowMs of the clock by which they were given */
export function seenIn(known: ReadonlyMap<What, Known>, nowMs: number): SeenCertificates {
  const seen: Record<string, unknown> = {};
  const requests: Record<string, unknown> = {};
  const [former, between]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const [what, { answer, sinceMs, signerSinceMs }] of known) {
    const isCertificate = answer.is === "present" && "fingerprint" in answer.value;
    const times = { knownForMs: nowMs - sinceMs, signerForMs: nowMs - signerSinceMs };
    const told = isCertificate ? present({ ...answer.value, ...times }) : answer;
    if (isRequest(what)) requests[purposeOf(what)] = told;
    else if (isFormer(what)) former[formerPurpose(what)] = told;
    else if (isBetween(what)) between[betweenPurpose(what)] = told;
    else seen[what] = told;
    if (what === "trustMap" && answer.is === "present") seen.trustMapForMs = nowMs - sinceMs;
  }
  const refused = refusedIn(known);
  if (refused !== undefined) seen.refused = refused;
  const some = Object.entries({ former, between }).filter(([, each]) => Object.keys(each).length > 0);
  const besides = Object.fromEntries(some);
  return { ...seen, ...besides, requests } as SeenCertificates;
}

/** Why something that was seen before is read no more: a right that is missing counts more than what passes by itself. */
function refusedIn(known: ReadonlyMap<What, Known>): string | undefined {
  // Of what was never read the answer itself tells why.
  const whys = [...known.values()].flatMap(({ answer, refused }) =>
    refused === undefined || answer.is === "unknown" ? [] : [refused],
  );
  return whys.find((why) => missingRightText(why) !== undefined) ?? whys.at(0);
}

export function signerIn(answer: Answer): string | undefined {
  return answer.is === "present" && "fingerprint" in answer.value ? answer.value.signerId : undefined;
}

/** Whether both show the same certificate, or one that was renewed in time, and trust the same authorities. */
export function saysSame(a: Answer, b: Answer, nowMs: number): boolean {
  if (a.is !== "present" || b.is !== "present") return false;
  if ("data" in a.value && "data" in b.value) return a.value.data?.[TRUST_FILE] === b.value.data?.[TRUST_FILE];
  if (!("fingerprint" in a.value) || !("fingerprint" in b.value)) return false;
  if (a.value.trust !== b.value.trust) return false;
  return a.value.fingerprint === b.value.fingerprint || isRenewal(a.value, b.value, nowMs);
}

/** Whoever has yet to hear of it is believed with the one before, by the same people, until it has heard: else a short life would never be known for long. */
function isRenewal(before: CertificateFacts, now: CertificateFacts, nowMs: number): boolean {
  const whatFor = ({ signerId, names, usages, trouble }: CertificateFacts) => ({ signerId, names, usages, trouble });
  const isGood = now.signerId !== undefined && now.trouble === undefined && isSameData(whatFor(before), whatFor(now));
  return isGood && before.notAfterMs - nowMs >= REACHED_MS;
}
