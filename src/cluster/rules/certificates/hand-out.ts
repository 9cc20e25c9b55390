import { applicationCertificateName } from "#api/names.ts";
import { providerOf } from "#api/tls.ts";
import { isSameData } from "#base/hash.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { isSameSigner } from "#certificates/trust.ts";
import { bothIn, courses, hasBegun } from "#cluster/certificates/course.ts";
import { formerTls } from "#cluster/certificates/former.ts";
import { lettingOut } from "#cluster/certificates/handed-out.ts";
import { united } from "#cluster/certificates/trusted.ts";
import { isOurs, usable } from "#cluster/certificates/usable.ts";
import { foreignSecretText, WHAT_FOR } from "#cluster/certificates/words.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { remark, step } from "#runtime/decide.ts";

/**
 * With the provider CertManager applications find what cert-manager has issued for them where they find what the operator issues, with whom they have
 * to trust, and where members are.
 */
export const handOut: ClusterRule = {
  name: "hand-out",
  decide(snapshot) {
    const { namespace, name } = snapshot.cluster.metadata;
    const found = snapshot.certificates?.handout;
    const source = sourceOf(snapshot);
    if (source === undefined || found === undefined || found.is === "unknown") return undefined;
    const trust = bothIn(courses(snapshot).client) ?? usable(snapshot, "server")?.trust ?? source.trust;
    const tells = `Secret ${applicationCertificateName(name)} gets ${WHAT_FOR.application}, as Secret ${source.secretName} has it`;
    const what = { do: "handOut", source, trust } as const;
    if (found.is === "absent") return step("hand-out", tells, { ...what, facts: undefined });
    const facts = found.value;
    if (!isOurs(snapshot, facts)) return remark("hand-out", foreignSecretText(namespace, facts.secretName));
    const ids = [...new Set(parsedIn(trust).map(idOf))];
    const isSame = facts.fingerprint === source.fingerprint && isSameData([...facts.trustIds].sort(), ids.sort());
    if (isSame && facts.trouble === undefined) return undefined;
    const doubting = lettingOut(snapshot, source, facts);
    if (doubting.length === 0) return step("hand-out", tells, { ...what, facts });
    // They go on with the pair that they have, and are told all the same by whom members are known.
    const isTold = ids.every((id) => facts.trustIds.includes(id));
    if (isTold) return remark("hand-out", keptText(facts, source, doubting));
    const lacks = `Secret ${facts.secretName}: its ca.crt lacks whom members are to be known by`;
    return step("hand-out", lacks, { ...what, source: facts, facts, trust: united(facts.trust, trust) });
  },
};

/** What is in the way, and what a person can do about it. */
function keptText(facts: SeenCertificate, source: SeenCertificate, doubting: readonly string[]): string {
  const does = doubting.length === 1 ? "does" : "do";
  const why = `its tls.crt is signed by an authority that ${doubting.join(", ")} ${does} not trust`;
  return `Secret ${facts.secretName} does not get what Secret ${source.secretName} holds: ${why}; have it signed as before until members trust both (ca.crt of what they show)`;
}

/**
 * What cert-manager has issued for applications: as the spec asks for, once members trust that, else as they were given it before. Whoever has gone
 * over does not come back for something that members wait for meanwhile.
 */
function sourceOf(snapshot: ClusterSnapshot) {
  const { at } = courses(snapshot).client;
  const isEarly = (at === "waiting" || at === "trust") && !hasBegun(snapshot, "client") && !hasGone(snapshot);
  const view = isEarly ? formerTls(snapshot) : snapshot;
  if (view === undefined || providerOf(view.cluster.spec, "client") !== "CertManager") return undefined;
  return providerOf(snapshot.cluster.spec, "client") === "Operator" ? undefined : usable(view, "application");
}

/** Whether applications have been given what the spec asks for, or had it before it was renewed: who has signed it counts. */
function hasGone(snapshot: ClusterSnapshot): boolean {
  const given = snapshot.certificates?.handout;
  const asked = usable(snapshot, "application");
  return given?.is === "present" && asked !== undefined && isSameSigner(asked, given.value);
}
