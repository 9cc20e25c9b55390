import { idOf, parsedIn } from "#certificates/pem.ts";
import { bothIn, type Course, courses } from "#cluster/certificates/course.ts";
import { dueOf, signerOf } from "#cluster/certificates/due.ts";
import { formerTls } from "#cluster/certificates/former.ts";
import { isShownByMembers, leavesOf, SIDES, secretNameOf } from "#cluster/certificates/purposes.ts";
import { united } from "#cluster/certificates/trusted.ts";
import { isIssuedHere, isOurs, seen } from "#cluster/certificates/usable.ts";
import { foreignSecretText, WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/**
 * With the provider Operator members, the operator and applications have certificates, made anew before their time is over. etcd reads them at
 * each handshake: nobody restarts.
 */
export const leaf: ClusterRule = {
  name: "leaf",
  decide(snapshot) {
    // What is in use comes first, also when it is to come from somewhere else.
    const views = [formerTls(snapshot), snapshot].flatMap((view) => view ?? []);
    const due = views.map((view) => stepFor(view, issued(snapshot, view), courses(snapshot).client));
    const foreign = issued(snapshot, snapshot)
      .map((purpose) => seen(snapshot, purpose))
      .find((each) => each && !isOurs(snapshot, each));
    const told = foreign && remark("leaf", foreignSecretText(snapshot.cluster.metadata.namespace, foreign.secretName));
    return due.find((each) => each !== undefined) ?? told;
  },
};

/** What the operator issues of what is asked for, or of what was. @param view by which it is looked after */
function issued(snapshot: ClusterSnapshot, view: ClusterSnapshot): readonly LeafPurpose[] {
  const all = SIDES.flatMap((side) => leavesOf(view.cluster, side)).filter((each) => isIssuedHere(view, each));
  const { at } = courses(snapshot).client;
  // Once members trust who issues by now, applications get that (hand-out.ts).
  return view === snapshot || at === "waiting" || at === "trust" ? all : all.filter((each) => each !== "application");
}

function stepFor(view: ClusterSnapshot, purposes: readonly LeafPurpose[], course: Course) {
  for (const purpose of purposes) {
    const authority = signerOf(view, purpose, bothIn(course));
    const facts = seen(view, purpose);
    const told = authority === undefined && facts !== undefined ? besidesIn(view, purpose, facts, course) : undefined;
    if (told !== undefined) return told;
    const due = dueOf(view, purpose, authority);
    if (due === undefined || authority === undefined) continue;
    const name = secretNameOf(view.cluster, purpose);
    if (due.what === "trust" && facts !== undefined)
      return step("leaf", `Secret ${name}: ${due.because}`, { do: "spreadTrust", purpose, authority, facts } as const);
    const because = `Secret ${name} gets ${WHAT_FOR[purpose]}: ${due.because}`;
    return step("leaf", because, { do: "issueLeaf", purpose, authority, facts } as const);
  }
  return undefined;
}

/** Whom to trust besides can be told without the authority that has signed: it may be lost half way to another one. */
function besidesIn(view: ClusterSnapshot, purpose: LeafPurpose, facts: SeenCertificate, course: Course) {
  const besides = bothIn(course);
  if (besides === undefined || isShownByMembers(purpose) || !isOurs(view, facts) || facts.trouble !== undefined)
    return undefined;
  const trust = united(facts.trust, besides);
  const trustIds = parsedIn(trust).map(idOf);
  if (trustIds.every((id) => facts.trustIds.includes(id))) return undefined;
  const because = `Secret ${facts.secretName}: its ca.crt lacks whom members are to be known by`;
  return step("leaf", because, {
    do: "spreadTrust",
    purpose,
    authority: { ...facts, trust, trustIds },
    facts,
  } as const);
}
