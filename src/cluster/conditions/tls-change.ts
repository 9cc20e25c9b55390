import { providerOf, type Side } from "#api/tls.ts";
import { courses } from "#cluster/certificates/course.ts";
import { keptTls } from "#cluster/certificates/kept.ts";
import { SIDES } from "#cluster/certificates/purposes.ts";
import { memberTls } from "#cluster/certificates.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";

/** How far members have come to show what comes from somewhere else, if they are on their way there. */
export function courseText(snapshot: ClusterSnapshot): string | undefined {
  const told = SIDES.flatMap((side) => courseOn(snapshot, side) ?? []);
  return told.length === 0 ? undefined : told.join("; ");
}

function courseOn(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const course = courses(snapshot)[side];
  return course.at === "settled" ? undefined : `tls.${side}: ${COURSE_TEXTS[course.at]}: ${course.why}`;
}

const COURSE_TEXTS = {
  waiting: "members go on with what they show, since what they are to show is not good yet",
  trust: "members come to trust what they are to show",
  tell: "members trust what they are to show, and clients come to do so",
  show: "members come to show what is asked for",
  hand: "members show what is asked for, and trust the former one as well",
} as const;

/**
 * What members have yet to come to of what `spec.tls` asks for, although they run all that they can be given by now. `undefined` when it is nothing:
 * that clients are served both ways, and that a former authority is trusted besides, is what they are to run.
 */
export function pendingTls(given: ClusterSnapshot): string | undefined {
  const snapshot = keptTls(given);
  const both = courses(snapshot);
  const told = SIDES.flatMap((side) => {
    const course = both[side].at === "hand" ? undefined : courseOn(snapshot, side);
    return course ?? whyNotSpeaking(given, side) ?? [];
  });
  return told.length === 0 ? undefined : told.join("; ");
}

function whyNotSpeaking(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const tls = memberTls(snapshot);
  const isAsked = providerOf(snapshot.cluster.spec, side) !== "None";
  if (isAsked && tls?.[side] === undefined)
    return `tls.${side}: members go on without until their certificates are there`;
  if (side === "client" || tls?.peer?.scheme !== "http") return undefined;
  return isAsked
    ? "tls.peer: members are reached without TLS until each of them can dial the others over it"
    : "tls.peer: members keep their certificates until each of them is reached without";
}
