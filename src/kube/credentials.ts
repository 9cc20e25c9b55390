import type { Clock } from "#base/clock.ts";

/** What a TLS connection to the API server needs; texts are PEM. */
export interface TlsMaterial {
  /** Absent: the system's own authorities. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate must carry, when it is not the host of the URL. */
  readonly serverName?: string;
  /** False only when the user asked for insecure-skip-tls-verify. */
  readonly verify: boolean;
}

export interface Credentials {
  /** The same object as long as nothing changed, so connections can be kept by identity. */
  readonly tls: TlsMaterial;
  /** Bearer token. */
  readonly token?: string;
}

/** How to reach one API server as one user. */
export interface KubeConfig {
  /** URL without a slash at the end; it may have a path. */
  readonly server: string;
  /** Namespace to use where none is named. */
  readonly namespace: string;
  /** Where this came from, for messages: a file or "service account". */
  readonly origin: string;
  /**
   * Credentials of now; cheap, since they are read again only when they are a minute old.
   * @param fresh read again at once: the server refused the ones we have
   * @throws OperatorError InvalidConfig when they never could be read
   */
  credentials(fresh: boolean): Promise<Credentials>;
}

/** The kubelet rotates tokens long before they expire; client-go looks once a minute as well. */
const MAX_AGE_MS = 60_000;

/**
 * Keeps what `read` returned for a minute. When reading fails later the old credentials stay in use: the files are
 * replaced while we look, and it is for the server to say that a token is too old.
 */
export function kept(
  clock: Clock,
  read: (fresh: boolean) => Promise<Credentials>,
): (fresh: boolean) => Promise<Credentials> {
  let current: Credentials | undefined;
  let readAtMs = 0;
  let reading: Promise<Credentials> | undefined;

  async function refresh(fresh: boolean): Promise<Credentials> {
    try {
      const found = await read(fresh);
      current = current !== undefined && sameTls(current.tls, found.tls) ? { ...found, tls: current.tls } : found;
    } catch (thrown) {
      if (current === undefined) throw thrown;
    } finally {
      readAtMs = clock.monotonicMs();
      reading = undefined;
    }
    return current;
  }

  return (fresh) => {
    if (!fresh && current !== undefined && clock.monotonicMs() - readAtMs < MAX_AGE_MS) return Promise.resolve(current);
    reading ??= refresh(fresh);
    return reading;
  };
}

function sameTls(a: TlsMaterial, b: TlsMaterial): boolean {
  return (
    a.ca === b.ca && a.cert === b.cert && a.key === b.key && a.serverName === b.serverName && a.verify === b.verify
  );
}
