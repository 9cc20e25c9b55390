import { areClientsVerified, issuerOf, providerOf, type Side } from "#api/tls.ts";
import { idOf, parsedIn } from "#certificates/pem.ts";
import { vouches } from "#certificates/trust.ts";
import { whyStranger } from "#cluster/auth/users.ts";
import { type ClusterSnapshot, remembered, type SeenCertificate } from "#cluster/snapshot.ts";
import { type CertificateProblem, certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import { membersWithoutCa, mergeBundles, secretsInUse, trustInUse } from "#cluster-tls/check/trusted.ts";
import { certificateIn, previousTls, usesRequestedCertificate } from "#cluster-tls/effective/previous.ts";
import { leavesOf, SHOWN_ON, secretNameOf } from "#cluster-tls/read/purposes.ts";
import { isUnverified, usable, whyTooLong } from "#cluster-tls/read/usable.ts";
import { notTrustingText } from "#cluster-tls/read/words.ts";
import { isCaEnding } from "./ca-end.ts";
import type { Round, TlsChange } from "./change.ts";
import { whyClientsLackCa, whyClientsUsePreviousCa } from "./clients.ts";

// How do members move to certificates of another provider, issuer or Secret?
//   Prepare: the requested certificates must exist and be valid. Until then nothing changes.
//   AcceptBoth: members trust the CAs of both. Clients get both CAs, too, and have time to reload the bundle, as long as
//   in a CA rotation. Clients that cannot get it are waited for until the current certificate is about to expire.
//   UseNew: members use the new certificate. Then the operator and applications move to it.
//   DropOld: the previous CA is no longer trusted (changes.ts).
// What if an operator restarts in between?
//   A round that an EtcdPeer has begun is continued, whatever times the new process has counted. So members never
//   alternate between two certificates.

export interface ProviderChange extends TlsChange {
  readonly kind: "Provider";
  readonly round: Exclude<Round, "DropOld">;
  /** Whether every member has done its part of the round, so that only clients are waited for. */
  readonly membersDone: boolean;
  /**
   * Every CA that signs a certificate in use during the change, in PEM. In round Prepare: the CAs that members trust
   * now.
   */
  readonly bundle: string;
}

/** Whether every member trusts the requested certificates: from its next restart it uses them. */
export function isNewTrusted({ round, membersDone }: ProviderChange): boolean {
  return round === "UseNew" || membersDone;
}

interface ProviderChanges {
  readonly peer: ProviderChange | undefined;
  readonly client: ProviderChange | undefined;
}

/** The provider change of each side until its last round, in which members drop the previous CA. */
export const providerChanges = remembered((snapshot): ProviderChanges => {
  const client = providerChangeOf(snapshot, "client");
  return { peer: providerChangeOf(snapshot, "peer", client), client };
});

/** @param other the change of the other side: one restart can serve both */
function providerChangeOf(snapshot: ClusterSnapshot, side: Side, other?: ProviderChange): ProviderChange | undefined {
  const name = secretNameOf(snapshot.cluster, SHOWN_ON[side]);
  const inUse = secretsInUse(snapshot, side);
  const shown = usable(snapshot, SHOWN_ON[side]);
  if (name === undefined || inUse.size === 0) return undefined;
  const others = [...inUse].filter((each) => each !== name);
  if (others.length === 0) return side === "peer" || shown === undefined ? undefined : clientsMoving(snapshot, shown);
  const inTrust = trustInUse(snapshot, side);
  const prepare = (waitsFor: string) =>
    changeTo(snapshot, side, { round: "Prepare", membersDone: false, waitsFor, bundle: mergeBundles(...inTrust) });
  const why = whyNotUsable(snapshot, side);
  if (why !== undefined || shown === undefined) return prepare(why ?? `Secret ${name} is being read`);
  const bundle = mergeBundles(...inTrust, shown.trust);
  const excess = whyTooLong(bundle);
  if (excess !== undefined)
    return prepare(`the certificates in ca.crt of Secret ${name} and those that members trust now have ${excess}`);
  const accept = (membersDone: boolean, waitsFor: string) =>
    changeTo(snapshot, side, { round: "AcceptBoth", membersDone, waitsFor, bundle });
  const lacking = membersWithoutCa(snapshot, side, shown.trustIds, bundle);
  if (lacking.length > 0) return accept(false, notTrustingText(lacking));
  if (!hasBegun(snapshot, side)) {
    const isEnding = others.some((each) => isCertificateEnding(snapshot, side, each));
    const late =
      side === "client"
        ? whyClientsLackCa(snapshot, shown, isEnding)
        : other?.round === "AcceptBoth"
          ? other.waitsFor
          : undefined;
    if (late !== undefined) return accept(true, late);
  }
  const waitsFor = `members still use Secret ${others.join(", ")}`;
  return changeTo(snapshot, side, { round: "UseNew", membersDone: false, waitsFor, bundle });
}

function changeTo(
  snapshot: ClusterSnapshot,
  side: Side,
  progress: Pick<ProviderChange, "round" | "membersDone" | "waitsFor" | "bundle">,
): ProviderChange {
  const previous = previousTls(snapshot);
  const from = previous && sourceText(previous.cluster, side);
  return { kind: "Provider", from, to: sourceText(snapshot.cluster, side), ...progress };
}

/** The source of the certificates that `spec.tls` of this cluster requests. */
export function sourceText(cluster: ClusterSnapshot["cluster"], side: Side): string {
  const provider = providerOf(cluster.spec, side);
  if (provider === "Secret") return `Secret ${secretNameOf(cluster, SHOWN_ON[side])}`;
  if (provider !== "CertManager") return provider;
  const { kind, name } = issuerOf(cluster.spec, side);
  return `${kind} ${name}`;
}

/** Whether some member's EtcdPeer has the requested Secret. From then on members do not return to the previous one. */
export function hasBegun({ cluster, peers }: ClusterSnapshot, side: Side): boolean {
  const name = secretNameOf(cluster, SHOWN_ON[side]);
  return name !== undefined && peers.some(({ spec }) => spec.tls?.[side]?.secretName === name);
}

/** Problems of the requested certificates of members and the operator. */
function problemsOf(snapshot: ClusterSnapshot, side: Side): readonly CertificateProblem[] {
  const purposes = leavesOf(snapshot.cluster, side).filter((purpose) => purpose !== "application");
  return purposes.flatMap((purpose) => certificateProblem(snapshot, purpose) ?? []);
}

/** Why the requested certificates cannot be used yet. */
function whyNotUsable(snapshot: ClusterSnapshot, side: Side): string | undefined {
  const [problem] = problemsOf(snapshot, side);
  if (problem !== undefined) return problem.message;
  if (side === "peer") return undefined;
  if (usable(snapshot, "server") === undefined || usable(snapshot, "operator") === undefined)
    return "certificates are being read";
  return whyMismatched(snapshot) ?? whyStranger(snapshot);
}

/** Why members and the operator would reject each other's requested certificates. */
function whyMismatched(snapshot: ClusterSnapshot): string | undefined {
  const [server, operator] = [usable(snapshot, "server"), usable(snapshot, "operator")];
  if (server === undefined || operator === undefined) return undefined;
  if (!isUnverified(snapshot, "operator") && !vouches(server.trust, operator))
    return `Secret ${operator.secretName}: the CA that signed its tls.crt is not in ca.crt of Secret ${server.secretName}, so members would reject the operator`;
  if (!vouches(operator.trust, server))
    return `Secret ${server.secretName}: the CA that signed its tls.crt is not in ca.crt of Secret ${operator.secretName}, so the operator would reject members`;
  return undefined;
}

/**
 * Problems that only a user can fix before members can use the requested certificates. `undefined` when there are none,
 * or none is known.
 */
export function whyUserMustAct(snapshot: ClusterSnapshot, side: Side): string | undefined {
  if (providerChanges(snapshot)[side]?.round !== "Prepare") return undefined;
  const problems = problemsOf(snapshot, side);
  const theirs = problems.filter(({ needsUser }) => needsUser).map(({ message }) => message);
  if (theirs.length > 0) return [...new Set(theirs)].join("; ");
  return side === "client" ? whyMismatched(snapshot) : undefined;
}

/** Whether a Secret or etcd could not be read, so that the requested certificates may still be valid. */
export function isUnread(snapshot: ClusterSnapshot, side: Side): boolean {
  const isEtcdSilent = side === "client" && snapshot.auth?.state.is === "unknown";
  return isEtcdSilent || problemsOf(snapshot, side).some(({ status }) => status === "Unknown");
}

/** Whether the certificate in this Secret has expired, or its CA is about to. */
function isCertificateEnding(snapshot: ClusterSnapshot, side: Side, secretName: string): boolean {
  const found = certificateIn(snapshot, side, secretName);
  return found !== undefined && isCaEnding(found, snapshot.takenAtMs);
}

/**
 * Round UseNew when all members use the requested certificate. Clients with a certificate of the previous CA have to
 * replace it before members stop trusting that CA.
 */
function clientsMoving(snapshot: ClusterSnapshot, shown: SeenCertificate): ProviderChange | undefined {
  const { peers, cluster } = snapshot;
  const ids = new Set(shown.trustIds);
  const isMore = (trust: string) => trust !== shown.trust && parsedIn(trust).some((each) => !ids.has(idOf(each)));
  const inUse = peers.map(({ spec }) => spec.tls?.client?.trust ?? "");
  // Continue with the restarts that drop the previous CA.
  if (inUse.some((trust) => !isMore(trust)) || !areClientsVerified(cluster.spec)) return undefined;
  const bundle = mergeBundles(...trustInUse(snapshot, "client"), shown.trust);
  const wait = (waitsFor: string) =>
    changeTo(snapshot, "client", { round: "UseNew", membersDone: true, waitsFor, bundle });
  const operator = usable(snapshot, "operator");
  if (!usesRequestedCertificate(snapshot) || operator === undefined || !vouches(shown.trust, operator))
    return wait(`the operator is about to use Secret ${secretNameOf(cluster, "operator")}`);
  const late = whyClientsUsePreviousCa(snapshot, shown, bundle);
  return late === undefined ? undefined : wait(late);
}
