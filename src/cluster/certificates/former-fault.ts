import { providerOf } from "#api/tls.ts";
import { type Course, courses } from "#cluster/certificates/course.ts";
import { type Fault, faultOf } from "#cluster/certificates/fault.ts";
import { formerTls } from "#cluster/certificates/former.ts";
import {
  AUTHORITY_OF,
  isAuthority,
  isShownByMembers,
  purposesOf,
  secretNameOf,
  sideOf,
} from "#cluster/certificates/purposes.ts";
import { authorityOf } from "#cluster/certificates/usable.ts";
import { WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterSnapshot, Purpose } from "#cluster/snapshot.ts";

/** What is wrong with what is in use, while something else is asked for: nobody makes all of that anew. */
export function formerFaults(snapshot: ClusterSnapshot): readonly Fault[] {
  const former = formerTls(snapshot);
  if (former === undefined) return [];
  return purposesOf(former.cluster)
    .filter((purpose) => isLookedAfter(snapshot, purpose))
    .flatMap((purpose) => lossOf(snapshot, former, purpose) ?? faultOf(former, purpose) ?? []);
}

/** What applications have is that of the former origin until members trust the other one. */
export function isLookedAfter(snapshot: ClusterSnapshot, purpose: Purpose): boolean {
  const { at } = courses(snapshot).client;
  return purpose !== "application" || at === "waiting" || at === "trust";
}

/** Says what becomes of it where it is not there, and nobody, or somebody else, makes it anew. @param former by which it is looked after */
function lossOf(snapshot: ClusterSnapshot, former: ClusterSnapshot, purpose: Purpose): Fault | undefined {
  const { cluster, certificates } = former;
  const side = sideOf(purpose);
  if (certificates?.[purpose]?.is !== "absent") return undefined;
  const nameOf = (each: Purpose) => `${cluster.metadata.namespace}/${secretNameOf(cluster, each)}`;
  const isLeft = LEFT.has(courses(snapshot)[side].at);
  const lost = (why: string, isForPeople: boolean): Fault => ({
    reason: "CertificateMissing",
    status: "False",
    isForPeople,
    message: `Secret ${nameOf(purpose)}, ${WHAT_FOR[purpose]}, is not there, and ${why}`,
  });
  if (isAuthority(purpose))
    return lost(
      "no other one is made on the way to what is asked for: what it has signed is good until it ends",
      false,
    );
  const goesOn = isShownByMembers(purpose)
    ? isLeft
      ? "members go on with it until they show what is asked for"
      : "members go on with it, and none restarts until it is there again: put it back"
    : "who has it goes on with it; put it back";
  const isForPeople = !(isLeft && isShownByMembers(purpose));
  const provider = providerOf(cluster.spec, side);
  if (provider === "CertManager")
    return lost(`only its Certificate, if that is there, has it filled anew; ${goesOn}`, isForPeople);
  if (provider === "Operator" && authorityOf(former, side) === undefined)
    return lost(`Secret ${nameOf(AUTHORITY_OF[side])} cannot sign another one; ${goesOn}`, isForPeople);
  return undefined;
}

/** All members trust what is asked for by now: they come to show it with the next restart. */
const LEFT: ReadonlySet<Course["at"]> = new Set(["tell", "show", "hand"]);
