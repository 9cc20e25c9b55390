import { idOf, parsedIn } from "#certificates/pem.ts";
import type { ClusterSnapshot, LeafPurpose, SeenCertificate } from "#cluster/snapshot.ts";
import type { ClusterRule } from "#cluster/step.ts";
import { type ProviderChange, providerChanges } from "#cluster-tls/change/provider-change.ts";
import { mergeBundles } from "#cluster-tls/check/trusted.ts";
import { previousTls } from "#cluster-tls/effective/previous.ts";
import { isManagedByPrevious } from "#cluster-tls/effective/previous-problems.ts";
import { dueOf, isRenewal, signerOf } from "#cluster-tls/issue/due.ts";
import { isShownByMembers, leavesOf, SIDES, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isIssuedHere, isOurs, seen } from "#cluster-tls/read/usable.ts";
import { foreignSecretText, WHAT_FOR } from "#cluster-tls/read/words.ts";
import { notice, step } from "#runtime/decide.ts";

/**
 * Issues and renews the certificates of members, the operator and applications with provider Operator. etcd reads them
 * at each handshake, so no member restarts.
 */
export const issueCertificate: ClusterRule = {
  name: "issue-certificate",
  decide(snapshot) {
    // Certificates in use come first, also during a provider change.
    const views = [previousTls(snapshot), snapshot].flatMap((view) => view ?? []);
    const due = views.map((view) => stepFor(view, issued(snapshot, view), providerChanges(snapshot).client));
    const foreign = issued(snapshot, snapshot)
      .map((purpose) => seen(snapshot, purpose))
      .find((each) => each && !isOurs(snapshot, each));
    const blocked = foreign && notice(foreignSecretText(snapshot.cluster.metadata.namespace, foreign.secretName));
    return due.find((each) => each !== undefined) ?? blocked;
  },
};

/**
 * The certificates that the operator issues in this view, requested or in use.
 * @param view the snapshot by which they are managed
 */
function issued(snapshot: ClusterSnapshot, view: ClusterSnapshot): readonly LeafPurpose[] {
  const all = SIDES.flatMap((side) => leavesOf(view.cluster, side)).filter((each) => isIssuedHere(view, each));
  // Once members trust the new CA, applications get their certificate from the new source (publish-client-secret.ts).
  return view === snapshot ? all : all.filter((each) => isManagedByPrevious(snapshot, each));
}

/**
 * The first certificate that only needs renewal. Nothing else is issued, and ca.crt alone is not
 * updated.
 */
export function renewal(snapshot: ClusterSnapshot) {
  const views = [previousTls(snapshot), snapshot].flatMap((view) => view ?? []);
  for (const view of views) {
    for (const purpose of issued(snapshot, view)) {
      const authority = signerOf(view, purpose, providerChanges(snapshot).client?.bundle);
      const facts = seen(view, purpose);
      if (authority === undefined || facts === undefined || !isRenewal(view, purpose, facts)) continue;
      const due = dueOf(view, purpose, authority);
      if (due?.what === "pair") return step(issueText(view, purpose, due.because), issue(purpose, authority, facts));
    }
  }
  return undefined;
}

function issue(purpose: LeafPurpose, authority: SeenCertificate, facts: SeenCertificate | undefined) {
  return { do: "issueLeaf", purpose, authority, facts } as const;
}

function issueText({ cluster }: ClusterSnapshot, purpose: LeafPurpose, why: string): string {
  return `Secret ${secretNameOf(cluster, purpose)} gets ${WHAT_FOR[purpose]}: ${why}`;
}

function stepFor(view: ClusterSnapshot, purposes: readonly LeafPurpose[], change: ProviderChange | undefined) {
  for (const purpose of purposes) {
    const authority = signerOf(view, purpose, change?.bundle);
    const facts = seen(view, purpose);
    const trustOnly =
      authority === undefined && facts !== undefined ? additionalTrust(view, purpose, facts, change) : undefined;
    if (trustOnly !== undefined) return trustOnly;
    const due = dueOf(view, purpose, authority);
    if (due === undefined || authority === undefined) continue;
    const name = secretNameOf(view.cluster, purpose);
    if (due.what === "trust" && facts !== undefined)
      return step(`Secret ${name}: ${due.because}`, {
        do: "spreadTrust",
        purpose,
        authority,
        facts,
      } as const);
    return step(issueText(view, purpose, due.because), issue(purpose, authority, facts));
  }
  return undefined;
}

/**
 * Additional CAs can be published without the CA that signed the certificate, which may be lost during a provider
 * change.
 */
function additionalTrust(
  view: ClusterSnapshot,
  purpose: LeafPurpose,
  facts: SeenCertificate,
  change: ProviderChange | undefined,
) {
  const additional = change?.bundle;
  if (additional === undefined || isShownByMembers(purpose) || !isOurs(view, facts) || facts.trouble !== undefined)
    return undefined;
  const trust = mergeBundles(facts.trust, additional);
  const trustIds = parsedIn(trust).map(idOf);
  if (trustIds.every((id) => facts.trustIds.includes(id))) return undefined;
  const because = `Secret ${facts.secretName}: its ca.crt lacks a CA of members`;
  return step(because, {
    do: "spreadTrust",
    purpose,
    authority: { ...facts, trust, trustIds },
    facts,
  } as const);
}
