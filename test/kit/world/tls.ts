import type { X509Certificate } from "node:crypto";
import {
  CERTIFICATE_FILE,
  CLIENT_TLS_VOLUME,
  CLIENT_TRUST_ANNOTATION,
  KEY_FILE,
  PEER_TLS_VOLUME,
  PEER_TRUST_ANNOTATION,
} from "#api/names.ts";
import { textIn } from "#certificates/facts.ts";
import { namesLacking } from "#certificates/names.ts";
import { isPair, parsedIn } from "#certificates/pem.ts";
import { signersOf } from "#certificates/trust.ts";
import type { TlsIdentity } from "#etcd/endpoint.ts";
import type { Pod, Secret } from "#kube/kinds.ts";
import { variablesOf } from "./flags.ts";

// Which processes can connect?
//
// The flags of a listening process say whether it uses TLS, and which certificate it presents, read again at each
// handshake. They also name the CAs that it trusts, read at its start. Here every message needs a handshake. Real
// connections last, but any of them may break at any time. test/etcd/tls-*.test.ts tests real members.

/** A certificate chain with its key. */
export interface Pair {
  readonly chain: readonly X509Certificate[];
  readonly names: readonly string[];
  readonly fromMs: number;
  readonly untilMs: number;
}

export type Trust = readonly X509Certificate[];

/** How a process listens on one of its ports, and dials the same port of others. */
export interface Speech {
  /** Schemes of its listen URLs; both may be served on one port. */
  readonly schemes: ReadonlySet<string>;
  /** The key pair that it presents; undefined when it has no valid one. */
  readonly pair: () => Pair | undefined;
  readonly trust: Trust;
  /** Whether it requires a client certificate. */
  readonly asks: boolean;
  /** The host name by which others dial it. */
  readonly host: string;
}

export interface Speeches {
  readonly peer: Speech;
  readonly client: Speech;
}

const HTTP: ReadonlySet<string> = new Set(["http"]);
const PLAIN_SIDE: Speech = { schemes: HTTP, pair: () => undefined, trust: [], asks: false, host: "" };
/** Without any TLS. */
export const PLAIN: Speeches = { peer: PLAIN_SIDE, client: PLAIN_SIDE };

/** @param mounted the Secret as it is in the pod now */
export function speechesOf(pod: Pod, mounted: (secretName: string) => Secret | undefined): Speeches {
  const get = variablesOf(pod);
  const host = hostOf(get("ETCD_INITIAL_ADVERTISE_PEER_URLS"));
  const side = (listen: string, prefix: string, volume: string, annotation: string): Speech => {
    const schemes = new Set(listen.split(",").map((url) => url.split("://")[0] ?? ""));
    const secretName = get(`${prefix}CERT_FILE`) === "" ? undefined : secretIn(pod, volume);
    const hasTrust = get(`${prefix}TRUSTED_CA_FILE`) !== "";
    return {
      schemes,
      pair: () => (secretName === undefined ? undefined : pairIn(mounted(secretName))),
      trust: secretName === undefined ? [] : trustIn(pod.metadata.annotations?.[annotation] ?? ""),
      asks: hasTrust && get(`${prefix}CLIENT_CERT_AUTH`) === "true",
      host,
    };
  };
  const peer = side(get("ETCD_LISTEN_PEER_URLS"), "ETCD_PEER_", PEER_TLS_VOLUME, PEER_TRUST_ANNOTATION);
  const client = side(get("ETCD_LISTEN_CLIENT_URLS"), "ETCD_", CLIENT_TLS_VOLUME, CLIENT_TRUST_ANNOTATION);
  return { peer, client };
}

function hostOf(url: string): string {
  return /:\/\/(.*):\d+$/.exec(url)?.[1] ?? "";
}

/** Names of the Secrets with the key pairs that the pod mounts. */
export function secretsIn(pod: Pod): readonly string[] {
  return [PEER_TLS_VOLUME, CLIENT_TLS_VOLUME].flatMap((volume) => secretIn(pod, volume) ?? []);
}

function secretIn({ spec }: Pod, volume: string): string | undefined {
  const sources = spec?.volumes?.find(({ name }) => name === volume)?.projected?.sources;
  return sources?.find(({ secret }) => secret !== undefined)?.secret?.name;
}

/** Why etcd exits at once with these files: `tlsutil.NewCert` at its start. */
export function whyNotStart({ peer, client }: Speeches): string | undefined {
  const isBad = [peer, client].some(({ schemes, pair }) => schemes.has("https") && pair() === undefined);
  return isBad ? "tls: private key does not match public key" : undefined;
}

const pairs = new WeakMap<object, Pair | "none">();

/** Objects of the API server never change, so each is parsed once. */
export function pairIn(secret: Secret | undefined): Pair | undefined {
  if (secret === undefined) return undefined;
  return remembered(secret, () => pairOf(textIn(secret, CERTIFICATE_FILE), textIn(secret, KEY_FILE)));
}

function remembered(of: object, read: () => Pair | undefined): Pair | undefined {
  const known = pairs.get(of) ?? read() ?? "none";
  pairs.set(of, known);
  return known === "none" ? undefined : known;
}

function pairOf(certificate: string, key: string): Pair | undefined {
  const chain = parsedIn(certificate);
  const [leaf] = chain;
  if (leaf === undefined || !isPair(leaf, key)) return undefined;
  const names = (leaf.subjectAltName ?? "").split(", ").map((name) => name.replace(/^(DNS|IP Address):/, ""));
  return {
    chain,
    names,
    fromMs: Math.max(...chain.map(({ validFromDate }) => validFromDate.getTime())),
    untilMs: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())),
  };
}

const trusted = new Map<string, Trust>();
/** More CA bundles than one history has; those of earlier histories are dropped. */
const MOST_TRUSTED = 100;

/** The CAs in a PEM text. The same text gives the same object, so that verification results can be cached. */
export function trustIn(pem: string): Trust {
  const known = trusted.get(pem);
  if (known !== undefined) return known;
  if (trusted.size >= MOST_TRUSTED) trusted.clear();
  const read = parsedIn(pem);
  trusted.set(pem, read);
  return read;
}

const vouched = new WeakMap<Trust, WeakMap<Pair, boolean>>();

/** Whether one of these CAs has signed the certificate. */
export function isVouched(trust: Trust, pair: Pair): boolean {
  const known = vouched.get(trust) ?? new WeakMap<Pair, boolean>();
  vouched.set(trust, known);
  const before = known.get(pair);
  if (before !== undefined) return before;
  const is = signersOf(pair.chain, trust).length > 0;
  known.set(pair, is);
  return is;
}

const named = new WeakMap<Pair, Map<string, boolean>>();

/** Whether the certificate is valid for this name. */
function hasName(pair: Pair, host: string): boolean {
  const known = named.get(pair) ?? new Map<string, boolean>();
  named.set(pair, known);
  const is = known.get(host) ?? namesLacking(pair.names, [host]).length === 0;
  known.set(host, is);
  return is;
}

/** Why a handshake fails, as an error code of Node; undefined when it succeeds. */
export type Failure =
  | "ERR_SSL_WRONG_VERSION_NUMBER"
  | "CERT_HAS_EXPIRED"
  | "CERT_NOT_YET_VALID"
  | "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
  | "ERR_TLS_CERT_ALTNAME_INVALID"
  | "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR"
  | "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA"
  | "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"
  | "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED";

/**
 * Why a client rejects the server's certificate.
 * @param nowMs by the client's clock
 */
function whyNotServer(trust: Trust, shown: Pair | undefined, host: string, nowMs: number): Failure | undefined {
  if (shown === undefined) return "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR";
  if (!isVouched(trust, shown)) return "UNABLE_TO_VERIFY_LEAF_SIGNATURE";
  if (shown.untilMs <= nowMs) return "CERT_HAS_EXPIRED";
  if (shown.fromMs > nowMs) return "CERT_NOT_YET_VALID";
  return hasName(shown, host) ? undefined : "ERR_TLS_CERT_ALTNAME_INVALID";
}

/** Why a server rejects the client's certificate. */
function whyNotClient({ trust, asks }: Speech, shown: Pair | undefined, nowMs: number): Failure | undefined {
  if (!asks) return undefined;
  if (shown === undefined) return "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED";
  if (!isVouched(trust, shown)) return "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA";
  return shown.untilMs <= nowMs || shown.fromMs > nowMs ? "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED" : undefined;
}

/**
 * Whether a member can connect to a second one at this URL. The presented certificate must be valid for the host name
 * in the URL. The dialling member's own certificate must be valid for the name of the listening member
 * (`--peer-cert-allowed-hostname`).
 */
export function reaches(from: Speech, to: Speech, url: string, nowMs: number): boolean {
  if (!url.startsWith("https:")) return to.schemes.has("http");
  const shown = from.pair();
  return (
    to.schemes.has("https") &&
    whyNotServer(from.trust, to.pair(), hostOf(url), nowMs) === undefined &&
    whyNotClient(to, shown, nowMs) === undefined &&
    (shown === undefined || hasName(shown, to.host))
  );
}

/** Whether the startup probe succeeds: it presents the member's own certificate, and trusts the member's CAs. */
export function reachesItself({ client }: Speeches, nowMs: number): boolean {
  if (!client.schemes.has("https")) return true;
  const shown = client.pair();
  const isBelieved = whyNotServer(client.trust, shown, client.host, nowMs) === undefined;
  return isBelieved && whyNotClient(client, shown, nowMs) === undefined;
}

/**
 * Why a client cannot connect to a member.
 * @param clocks of the client, and of the member
 */
export function whyNotServed(
  { client }: Speeches,
  tls: TlsIdentity | undefined,
  clocks: { readonly ownMs: number; readonly memberMs: number },
): Failure | undefined {
  if (tls === undefined) return client.schemes.has("http") ? undefined : "ERR_SSL_WRONG_VERSION_NUMBER";
  if (!client.schemes.has("https")) return "ERR_SSL_WRONG_VERSION_NUMBER";
  const why = whyNotServer(trustIn(tls.ca), client.pair(), tls.serverName, clocks.ownMs);
  return (
    why ??
    whyNotClient(
      client,
      remembered(tls, () => pairOf(tls.cert, tls.key)),
      clocks.memberMs,
    )
  );
}
