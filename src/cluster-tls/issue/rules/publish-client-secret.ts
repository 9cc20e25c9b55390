import { applicationCertificateName } from "#api/names.ts";
import { providerOf } from "#api/tls.ts";
import { isSameData } from "#base/hash.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { isSameSigner } from "#certificates/trust.ts";
import type { ClusterSnapshot, SeenCertificate } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { hasBegun, isNewTrusted, providerChanges } from "#cluster-tls/change/provider-change.ts";
import { membersRejectingApplications } from "#cluster-tls/check/client-secret.ts";
import { mergeBundles } from "#cluster-tls/check/trusted.ts";
import { previousTls } from "#cluster-tls/effective/previous.ts";
import { GIVEN_DIFFERS, hasGiven } from "#cluster-tls/issue/due.ts";
import { isOurs, usable } from "#cluster-tls/read/usable.ts";
import { foreignSecretText, WHAT_FOR } from "#cluster-tls/read/words.ts";
import { notice, step } from "#runtime/decide.ts";

/**
 * Publishes the certificate that cert-manager issued for applications, with the CAs to trust and the endpoints. The
 * Secret is the same as with provider Operator.
 */
export const publishClientSecret: ClusterRule = {
  name: "publish-client-secret",
  decide(snapshot) {
    const { namespace, name } = snapshot.cluster.metadata;
    const found = snapshot.certificates?.clientSecret;
    const source = sourceOf(snapshot);
    if (source === undefined || found === undefined || found.is === "unknown") return undefined;
    const trust = providerChanges(snapshot).client?.bundle ?? usable(snapshot, "server")?.trust ?? source.trust;
    const because = `Secret ${applicationCertificateName(name)} gets ${WHAT_FOR.application}, as Secret ${source.secretName} has it`;
    const what = { do: "publishClientSecret", source, trust } as const;
    if (found.is === "absent") return step(because, { ...what, facts: undefined });
    const facts = found.value;
    if (!isOurs(snapshot, facts)) return notice(foreignSecretText(namespace, facts.secretName));
    const ids = [...new Set(parsedIn(trust).map(idOf))];
    const isSame = facts.fingerprint === source.fingerprint && isSameData([...facts.trustIds].sort(), ids.sort());
    if (isSame && facts.trouble === undefined)
      return hasGiven(snapshot, facts)
        ? undefined
        : step(`Secret ${facts.secretName}: ${GIVEN_DIFFERS}`, { ...what, facts });
    const rejecting = membersRejectingApplications(snapshot, source, facts);
    if (rejecting.length === 0) return step(because, { ...what, facts });
    // They keep their certificate, and still get the CAs of members.
    const hasAllCas = ids.every((id) => facts.trustIds.includes(id));
    if (hasAllCas) return notice(keptText(facts, source, rejecting));
    const lacks = `Secret ${facts.secretName}: its ca.crt lacks a CA of members`;
    return step(lacks, {
      ...what,
      source: facts,
      facts,
      trust: mergeBundles(facts.trust, trust),
    });
  },
};

/**
 * The step that publishes a certificate that cert-manager has renewed; every member trusts its CA already.
 */
export function renewedClientSecret(snapshot: ClusterSnapshot) {
  const decided = publishClientSecret.decide(snapshot);
  if (decided?.next !== "step" || decided.step.do !== "publishClientSecret") return undefined;
  const { source, facts } = decided.step;
  const isRenewed = facts !== undefined && facts.trouble === undefined && facts.fingerprint !== source.fingerprint;
  return isRenewed ? step(decided.because, decided.step) : undefined;
}

/** Why the new certificate is not published, and what a user can do about it. */
function keptText(facts: SeenCertificate, source: SeenCertificate, rejecting: readonly string[]): string {
  const does = rejecting.length === 1 ? "does" : "do";
  const why = `its tls.crt is signed by a CA that ${rejecting.join(", ")} ${does} not trust`;
  return `Secret ${facts.secretName} does not get the certificate of Secret ${source.secretName}: ${why}; sign it with the old CA. Then list both CAs in ca.crt of the members' Secret, and wait until members trust both`;
}

/**
 * The certificate of cert-manager for applications: the requested one once members trust it, until then the previous
 * one. Once published, the requested one stays, even if members wait again.
 */
function sourceOf(snapshot: ClusterSnapshot) {
  const change = providerChanges(snapshot).client;
  const isTrusted = change === undefined || isNewTrusted(change);
  const isEarly = !isTrusted && !hasBegun(snapshot, "client") && !wasPublished(snapshot);
  const view = isEarly ? previousTls(snapshot) : snapshot;
  if (view === undefined || providerOf(view.cluster.spec, "client") !== "CertManager") return undefined;
  return providerOf(snapshot.cluster.spec, "client") === "Operator" ? undefined : usable(view, "application");
}

/** Whether the requested certificate was published, or one of the same CA before its renewal. */
function wasPublished(snapshot: ClusterSnapshot): boolean {
  const given = snapshot.certificates?.clientSecret;
  const asked = usable(snapshot, "application");
  return given?.is === "present" && asked !== undefined && isSameSigner(asked, given.value);
}
