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
import { variablesOf } from "./world-flags.ts";

// Who can speak with whom?
//   Whoever listens says by its flags whether it speaks TLS, what it shows (read anew at each handshake) and whom it trusts (read when it
//   starts). Here every message takes a handshake: real connections live on, but any of them may break at any time.
//   What real members do is tried in test/etcd/tls-*.test.ts.

/** What is shown: a certificate with its key. */
export interface Pair {
  readonly chain: readonly X509Certificate[];
  readonly names: readonly string[];
  readonly fromMs: number;
  readonly untilMs: number;
}

export type Trust = readonly X509Certificate[];

/** How a process speaks at one of its ports, and dials the same port of others. */
export interface Speech {
  /** As its URLs to listen at say; both may be served at one port. */
  readonly schemes: ReadonlySet<string>;
  /** What it shows; undefined when it has nothing that it could show. */
  readonly pair: () => Pair | undefined;
  readonly trust: Trust;
  /** Whether it asks who connects for a certificate. */
  readonly asks: boolean;
  /** By which name others call it. */
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

/** @param mounted the Secret as it is in the pod by now */
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

/** Names of the Secrets whose pairs the pod mounts. */
export function secretsIn(pod: Pod): readonly string[] {
  return [PEER_TLS_VOLUME, CLIENT_TLS_VOLUME].flatMap((volume) => secretIn(pod, volume) ?? []);
}

function secretIn({ spec }: Pod, volume: string): string | undefined {
  const sources = spec?.volumes?.find(({ name }) => name === volume)?.projected?.sources;
  return sources?.find(({ secret }) => secret !== undefined)?.secret?.name;
}

/** Why etcd ends at once with what it finds: `tlsutil.NewCert` when it starts. */
export function whyNotStart({ peer, client }: Speeches): string | undefined {
  const isBad = [peer, client].some(({ schemes, pair }) => schemes.has("https") && pair() === undefined);
  return isBad ? "tls: private key does not match public key" : undefined;
}

const pairs = new WeakMap<object, Pair | "none">();

/** Objects of the API server are never changed: what one says is read once. */
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
/** More texts than a history has: those of histories before are let go of. */
const MOST_TRUSTED = 100;

/** Whom a text in PEM says to trust: the same ones for the same text, so that what they vouch for is found out once. */
export function trustIn(pem: string): Trust {
  const known = trusted.get(pem);
  if (known !== undefined) return known;
  if (trusted.size >= MOST_TRUSTED) trusted.clear();
  const read = parsedIn(pem);
  trusted.set(pem, read);
  return read;
}

const vouched = new WeakMap<Trust, WeakMap<Pair, boolean>>();

/** Whether somebody of these has signed it. */
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

/** Whether it is good for this name. */
function hasName(pair: Pair, host: string): boolean {
  const known = named.get(pair) ?? new Map<string, boolean>();
  named.set(pair, known);
  const is = known.get(host) ?? namesLacking(pair.names, [host]).length === 0;
  known.set(host, is);
  return is;
}

/** Why a handshake fails, by the code that Node would tell; undefined when it does not. */
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

/** Why whoever dials does not believe what it is shown. @param nowMs by the clock of who dials */
function whyNotServer(trust: Trust, shown: Pair | undefined, host: string, nowMs: number): Failure | undefined {
  if (shown === undefined) return "ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR";
  if (!isVouched(trust, shown)) return "UNABLE_TO_VERIFY_LEAF_SIGNATURE";
  if (shown.untilMs <= nowMs) return "CERT_HAS_EXPIRED";
  if (shown.fromMs > nowMs) return "CERT_NOT_YET_VALID";
  return hasName(shown, host) ? undefined : "ERR_TLS_CERT_ALTNAME_INVALID";
}

/** Why whoever listens does not believe who dials. */
function whyNotClient({ trust, asks }: Speech, shown: Pair | undefined, nowMs: number): Failure | undefined {
  if (!asks) return undefined;
  if (shown === undefined) return "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED";
  if (!isVouched(trust, shown)) return "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA";
  return shown.untilMs <= nowMs || shown.fromMs > nowMs ? "ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED" : undefined;
}

/**
 * Whether a member gets through to another one at this URL. It must be called by a name that is in what it shows, and who calls must show
 * what is good for the name of who is called (`--peer-cert-allowed-hostname`).
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

/** Whether the startup probe gets an answer: it shows the member's own pair, and trusts whom the member trusts. */
export function reachesItself({ client }: Speeches, nowMs: number): boolean {
  if (!client.schemes.has("https")) return true;
  const shown = client.pair();
  const isBelieved = whyNotServer(client.trust, shown, client.host, nowMs) === undefined;
  return isBelieved && whyNotClient(client, shown, nowMs) === undefined;
}

/** Why a client does not get through to a member. @param clocks of the client, and of the member */
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
