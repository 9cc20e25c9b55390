import type { Clock } from "#base/clock.ts";

/** TLS settings for connections to the API server; certificates and key are PEM. */
export interface TlsMaterial {
  /** Absent: the system's CAs. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Name that the server's certificate must carry, when it is not the host of the URL. */
  readonly serverName?: string;
  /** False only when the user asked for insecure-skip-tls-verify. */
  readonly verify: boolean;
}

export interface Credentials {
  /** Same object as before while the contents are unchanged, so that connections can be reused by identity. */
  readonly tls: TlsMaterial;
  /** Bearer token. */
  readonly token?: string;
}

/** Address of one API server, with the credentials of one user. */
export interface KubeConfig {
  /** URL without a slash at the end; it may have a path. */
  readonly server: string;
  /** Namespace to use where none is named. */
  readonly namespace: string;
  /** Source for messages: a file or "service account". */
  readonly origin: string;
  /**
   * Current credentials. Cheap: they are read again only when they are a minute old.
   * @param fresh reads them again at once, since the server refused the current ones
   * @throws OperatorError InvalidConfig if no read has succeeded yet
   */
  credentials(fresh: boolean): Promise<Credentials>;
}

/** Age at which credentials are read again, as in client-go. The kubelet rotates tokens long before they expire. */
const MAX_AGE_MS = 60_000;

/**
 * Caches the result of `read` for a minute. When a later read fails, the old credentials stay in use, since the files
 * may be incomplete during a rotation. The server decides whether an old token is still valid.
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
