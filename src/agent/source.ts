import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "#base/error.ts";
import { SnapshotSource, type SourceAccess, type SourceLogin, type SourceTLS } from "#etcd/snapshot-source.ts";
import type { Answer } from "./choose-member.ts";
import { AgentError } from "./error.ts";
import type { EtcdSource } from "./task.ts";

/** Deadline per member, in milliseconds: connecting, login and answer. */
const STATUS_DEADLINE_MS = 5_000;

/** The endpoints of a source, with one connection each. */
export class Sources {
  readonly #all: readonly SnapshotSource[];

  constructor(all: readonly SnapshotSource[]) {
    this.#all = all;
  }

  /** Reads the status of all endpoints in parallel. @param except endpoints to omit @throws OperatorError Cancelled */
  async ask(signal: AbortSignal, except: ReadonlySet<Answer["source"]>): Promise<readonly Answer[]> {
    const asked = this.#all.filter((source) => !except.has(source));
    return await Promise.all(
      asked.map(async (source): Promise<Answer> => {
        try {
          return { source, status: await source.status({ signal, deadlineMs: STATUS_DEADLINE_MS }) };
        } catch (thrown) {
          if (!(thrown instanceof OperatorError) || thrown.code === "Cancelled") throw thrown;
          return { source, failed: thrown };
        }
      }),
    );
  }

  close(): void {
    for (const source of this.#all) source.close();
  }
}

/**
 * Sources for a task that runs for years: files are read again before each call, and changed files lead to new
 * connections. The kubelet updates mounted Secrets some time after a certificate is renewed.
 */
export class LastingSources {
  readonly #source: EtcdSource;
  readonly #pingIntervalMs: number | undefined;
  #opened: { readonly with: string; readonly sources: Sources } | undefined;

  constructor(source: EtcdSource, pingIntervalMs?: number) {
    this.#source = source;
    this.#pingIntervalMs = pingIntervalMs;
  }

  /** Like `Sources.ask`; closes the old connections when files have changed. @throws AgentError like `openSources` */
  async ask(signal: AbortSignal, except: ReadonlySet<Answer["source"]>): Promise<readonly Answer[]> {
    const access = await accessOf(this.#source);
    const text = JSON.stringify(access);
    if (this.#opened?.with !== text) {
      this.close();
      this.#opened = {
        with: text,
        sources: sourcesOf(this.#source, { ...access, pingIntervalMs: this.#pingIntervalMs }),
      };
    }
    return await this.#opened.sources.ask(signal, except);
  }

  close(): void {
    this.#opened?.sources.close();
    this.#opened = undefined;
  }
}

/**
 * Reads the credentials; no request is sent yet.
 * @param pingIntervalMs see SourceAccess
 * @throws AgentError BadTask for an invalid endpoint, SourceTLS or SourceAuth for missing files
 */
export async function openSources(source: EtcdSource, pingIntervalMs?: number): Promise<Sources> {
  return sourcesOf(source, { ...(await accessOf(source)), pingIntervalMs });
}

function sourcesOf({ endpoints }: EtcdSource, access: Omit<SourceAccess, "url">): Sources {
  return new Sources(endpoints.map((url) => openSource(url, access)));
}

async function accessOf(source: EtcdSource): Promise<Pick<SourceAccess, "tls" | "login">> {
  const plain = source.endpoints.find((url) => !url.startsWith("https://"));
  if (source.authDir !== undefined && plain !== undefined) {
    throw new AgentError(
      "BadTask",
      `the endpoint is ${plain}; with a user it must be https://, or its password could be intercepted`,
    );
  }
  const tls = await tlsIn(source);
  const login = source.authDir === undefined ? undefined : await loginIn(source.authDir);
  return { tls, login };
}

/** @throws AgentError BadTask for an invalid URL */
export function openSource(url: string, access: Omit<SourceAccess, "url"> = {}): SnapshotSource {
  try {
    return new SnapshotSource({ url, ...access });
  } catch (thrown) {
    if (!(thrown instanceof OperatorError)) throw thrown;
    throw new AgentError("BadTask", thrown.message, { cause: thrown });
  }
}

async function tlsIn({ tlsDir, serverName }: EtcdSource): Promise<SourceTLS> {
  if (tlsDir === undefined) return { serverName };
  const [ca, cert, key] = await Promise.all(["ca.crt", "tls.crt", "tls.key"].map((name) => fileIn(tlsDir, name)));
  if ((cert === undefined) !== (key === undefined)) {
    throw new AgentError(
      "SourceTLS",
      `the Secret for TLS has only one of tls.crt and tls.key; it must have both or neither`,
    );
  }
  return { ca, cert, key, serverName };
}

async function loginIn(dir: string): Promise<SourceLogin> {
  const [name, password] = await Promise.all(["ETCD_USERNAME", "ETCD_PASSWORD"].map((file) => fileIn(dir, file)));
  if (name === undefined || password === undefined) {
    throw new AgentError(
      "SourceAuth",
      "the Secret with the user of etcd must have both ETCD_USERNAME and ETCD_PASSWORD",
    );
  }
  return { name: name.trim(), password: password.replace(/\r?\n$/, "") };
}

/** Undefined when the file does not exist. */
async function fileIn(dir: string, name: string): Promise<string | undefined> {
  try {
    return await readFile(join(dir, name), "utf8");
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
