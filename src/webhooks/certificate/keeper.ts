import { WEBHOOKS } from "#api/names.ts";
import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { asOperatorError, hasCode, OperatorError } from "#base/error.ts";
import type { Log } from "#base/log.ts";
import { certificatesIn } from "#certificates/pem.ts";
import type { KubeClient } from "#kube/client.ts";
import { type KubeObject, type Resource, resourceName, SECRETS, type Secret } from "#kube/kinds.ts";
import { type ClientConfig, caBundleOf, callsService, trustedBy, trusts } from "#webhooks/certificate/bundle.ts";
import { newAuthority, newServing } from "#webhooks/certificate/issue.ts";
import { bundleOf, isOwnSecret, type Material, materialOf, secretFor } from "#webhooks/certificate/material.ts";
import { type Due, dueOf, isTrustedBy, isValid } from "#webhooks/certificate/renewal.ts";
import type { ServingCertificate } from "#webhooks/server.ts";

// Who does what?
//   Every replica shows a certificate of the one Secret. The one that holds the lease writes: the Secret when it is due, and the
//   authorities to whoever calls us. One that is starting writes, too: it cannot know whether anybody leads, and what keeps it from
//   reading the state may be just this certificate. So does one that has never had a certificate and finds no Secret twice: whoever
//   leads may look again in minutes only. What is written follows from the Secret alone, so two that write agree.
// Which certificate does a replica show?
//   The newest that the API server trusts. A new one is shown only some seconds after its authority was seen to be trusted, unless
//   there is nothing better to show.
// Why is the Secret not watched?
//   That would take the right to list. A look every few minutes is early enough for what changes a few times a year.

/** An object in which the API server is told whom to trust when it calls a webhook. */
export interface BundleHolder<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly name: string;
  /** The object with every client configuration in it changed. */
  readonly edited: (object: T, change: <C extends ClientConfig>(config: C) => C) => T;
}

/** Between two looks at the Secret, in milliseconds. */
const STEADY_MS = 300_000;
/** While something is about to change, or this process starts; and how long every API server may take to hear of an authority, in milliseconds. */
const SETTLE_MS = 5_000;
/** After somebody else was faster, in milliseconds. */
const AGAIN_MS = 100;
const RETRY: Backoff = { firstMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0.3 };

interface KeeperOptions {
  readonly kube: Pick<KubeClient, "find" | "create" | "replace">;
  readonly clock: Clock;
  readonly log: Log;
  /** The operator's own; its Service there leads to the server. */
  readonly namespace: string;
  readonly holders: readonly BundleHolder<KubeObject>[];
  /** Whether this process leads, or cannot know whether another one does. */
  readonly mayWrite: () => boolean;
  /** Whether this process has yet to read everything. Definitions that are installed after it make the API server call it. */
  readonly isStarting?: () => boolean;
  readonly show: (serving: ServingCertificate) => void;
}

/** The name by which the API server calls a Service. */
export function webhookHost(namespace: string): string {
  return `${WEBHOOKS}.${namespace}.svc`;
}

/** Makes, renews and shows the certificate of the webhooks, and has it trusted. */
export class CertificateKeeper {
  readonly #options: KeeperOptions;
  /** The certificate that is shown, in PEM. */
  #shown: string | undefined;
  /** Whom this process has known to be trusted, in PEM: what the others may still show a certificate of. */
  #authorities: readonly string[] = [];
  /** A certificate that is to be shown, and since when it was seen to be trusted. */
  #next: { readonly certificate: string; readonly sinceMs: number } | undefined;
  #failure = "";
  /** Whether this process has made a certificate, and has yet to say everywhere whom to trust. */
  #owesTrust = false;
  /** At how many looks in a row there was no Secret, and nothing to show. */
  #missing = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Why the server cannot be called; undefined when it can. */
  get fault(): string | undefined {
    if (this.#shown === undefined) return `has no certificate yet${this.#failure === "" ? "" : `: ${this.#failure}`}`;
    if (isValid(this.#shown, this.#options.clock.wallMs())) return undefined;
    return `its certificate has ended${this.#failure === "" ? "" : `: ${this.#failure}`}`;
  }

  /** Looks again and again, until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const next = await this.look(signal).catch((thrown: unknown) => this.#told(thrown, signal));
      failures = next === undefined ? failures + 1 : 0;
      const waitMs = next ?? delayMs(RETRY, failures - 1, Math.random());
      const longestMs = this.#options.isStarting?.() === true ? SETTLE_MS : STEADY_MS;
      await clock.sleep(Math.min(waitMs, longestMs), signal).catch(() => undefined); // aborted
    }
  }

  /**
   * One look at all that the certificate depends on, with what follows from it.
   * @returns when to look again, in milliseconds
   */
  async look(signal: AbortSignal): Promise<number> {
    try {
      const live = await this.#secret(signal);
      const { material, due } = await this.#renewed(live, signal);
      if (material === undefined) return this.#shown === undefined ? SETTLE_MS : STEADY_MS;
      const isTrusted = await this.#haveTrusted(material, signal).catch((thrown: unknown) => {
        this.#showWhenTrusted(material, false); // better than nothing
        throw thrown;
      });
      this.#authorities = certificatesIn(bundleOf(material));
      this.#failure = "";
      const next = this.#showWhenTrusted(material, isTrusted);
      if (due !== "earlier" || next !== STEADY_MS || !this.#options.mayWrite()) return next;
      await this.#write({ ...material, earlier: [] }, live, signal);
      return AGAIN_MS;
    } catch (thrown) {
      if (hasCode(thrown, "KubeConflict", "KubeAlreadyExists")) return AGAIN_MS; // somebody was faster: what they wrote counts
      throw thrown;
    }
  }

  async #secret(signal: AbortSignal): Promise<Secret | undefined> {
    const { kube, namespace } = this.#options;
    const found = await kube.find(SECRETS, { namespace, name: WEBHOOKS }, { signal });
    if (found.is === "unknown") throw new OperatorError("KubeUnavailable", found.why);
    return found.is === "present" ? found.value : undefined;
  }

  /** The material as it is to be used; undefined when there is none and it is not ours to make it. */
  async #renewed(
    live: Secret | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly material: Material | undefined; readonly due?: Due | undefined }> {
    const { clock, namespace } = this.#options;
    const found = live === undefined ? { unusable: "it is not there" } : materialOf(live);
    const material = "unusable" in found ? undefined : found;
    const due = material === undefined ? "authority" : dueOf(material, webhookHost(namespace), clock.wallMs());
    this.#missing = live === undefined && this.#shown === undefined ? this.#missing + 1 : 0;
    if (due === undefined || due === "earlier" || !(this.#mayWrite() || this.#missing > 1)) return { material, due };
    const why = "unusable" in found ? found.unusable : `its ${due === "serving" ? "certificate" : "authority"} is due`;
    if (live !== undefined && !isOwnSecret(live)) {
      const is = `Secret ${namespace}/${WEBHOOKS} is not the operator's, which has labelled its own, and ${why}`;
      if (material === undefined) throw new OperatorError("InvalidConfig", `${is}; delete it, and it is made anew`);
      this.#options.log.warn({ namespace, name: WEBHOOKS }, `${is}: it is used as long as it lasts`);
      return { material };
    }
    const remade = await this.#remade(due, material, signal);
    await this.#write(remade, live, signal);
    this.#owesTrust = true;
    this.#options.log.info({ namespace, name: WEBHOOKS, because: why }, "made a certificate for the webhooks");
    return { material: remade };
  }

  async #remade(due: Due, material: Material | undefined, signal: AbortSignal): Promise<Material> {
    const { clock, namespace } = this.#options;
    const nowMs = clock.wallMs();
    const isKept = due === "serving" && material !== undefined;
    const authority = isKept ? material.authority : await newAuthority(nowMs);
    const serving = await newServing(authority, webhookHost(namespace), nowMs);
    if (isKept) return { ...material, serving };
    const before = material === undefined ? [] : certificatesIn(bundleOf(material));
    const known = new Set([...before, ...this.#authorities, ...(await this.#trustedNow(signal))]);
    return { authority, serving, earlier: [...known].filter((each) => isValid(each, nowMs)) };
  }

  async #write(material: Material, live: Secret | undefined, signal: AbortSignal): Promise<void> {
    const { kube, namespace } = this.#options;
    const draft = secretFor(namespace, material, live);
    // POST and not an apply: of two that start together, one makes it and the other one reads it.
    if (live === undefined) await kube.create(SECRETS, draft, { signal });
    else await kube.replace(SECRETS, draft, { signal });
  }

  /** Whom the API server trusts by now, whoever said so; as far as it can be read. */
  async #trustedNow(signal: AbortSignal): Promise<readonly string[]> {
    const trusted: string[] = [];
    for (const holder of this.#options.holders) {
      const found = await this.#options.kube.find(holder.resource, { name: holder.name }, { signal });
      if (found.is === "present") trusted.push(...this.#configsIn(holder, found.value).flatMap(trustedBy));
    }
    return trusted;
  }

  /** Has the authorities trusted wherever somebody calls us. @returns whether that of the certificate is trusted everywhere */
  async #haveTrusted(material: Material, signal: AbortSignal): Promise<boolean> {
    const { holders } = this.#options;
    if (!this.#mayWrite() && this.#shown === material.serving.certificate) return true;
    const authorities = certificatesIn(bundleOf(material));
    let isTrusted = true;
    for (const holder of holders) {
      const object = await this.#held(holder, signal);
      if (object === undefined) continue; // nobody calls
      const configs = this.#configsIn(holder, object);
      if (configs.every((config) => trusts(config, authorities))) continue;
      if (this.#mayWrite()) await this.#tell(holder, object, authorities, signal);
      else isTrusted &&= configs.every((config) => isTrustedBy(material.serving.certificate, trustedBy(config)));
    }
    this.#owesTrust = false;
    return isTrusted;
  }

  /** Who has made a certificate also says whom to trust: a process that starts may learn in between that another one leads. */
  #mayWrite(): boolean {
    return this.#owesTrust || this.#options.mayWrite();
  }

  async #held<T extends KubeObject>({ resource, name }: BundleHolder<T>, signal: AbortSignal): Promise<T | undefined> {
    const found = await this.#options.kube.find(resource, { name }, { signal });
    if (found.is === "unknown") throw new OperatorError("KubeUnavailable", found.why);
    return found.is === "present" ? found.value : undefined;
  }

  #configsIn<T extends KubeObject>(holder: BundleHolder<T>, object: T): readonly ClientConfig[] {
    const configs: ClientConfig[] = [];
    holder.edited(object, (config) => {
      if (callsService(config, this.#options.namespace, WEBHOOKS)) configs.push(config);
      return config;
    });
    return configs;
  }

  async #tell<T extends KubeObject>(
    holder: BundleHolder<T>,
    object: T,
    authorities: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { kube, namespace, log } = this.#options;
    const caBundle = caBundleOf(authorities);
    const edited = holder.edited(object, (config) =>
      callsService(config, namespace, WEBHOOKS) ? { ...config, caBundle } : config,
    );
    await kube.replace(holder.resource, edited, { signal });
    const fields = { resource: resourceName(holder.resource), name: holder.name, count: authorities.length };
    log.info(fields, "told the API server whom to trust when it calls the webhooks");
  }

  /** @returns when to look again, in milliseconds */
  #showWhenTrusted({ serving }: Material, isTrusted: boolean): number {
    const { clock, show, log, namespace } = this.#options;
    const { certificate } = serving;
    if (this.#shown === certificate) return STEADY_MS;
    const nowMs = clock.monotonicMs();
    if (!isTrusted || this.#next?.certificate !== certificate) this.#next = { certificate, sinceMs: nowMs };
    const hasSettled = nowMs - this.#next.sinceMs >= SETTLE_MS;
    const isBest = this.#shown === undefined || !isValid(this.#shown, clock.wallMs());
    if (!hasSettled && !isBest) return SETTLE_MS;
    show(serving);
    this.#shown = certificate;
    this.#next = undefined;
    log.info({ namespace, name: WEBHOOKS }, "shows a new certificate to who calls the webhooks");
    return STEADY_MS;
  }

  /** Says once what is wrong. */
  #told(thrown: unknown, signal: AbortSignal): undefined {
    if (signal.aborted) return undefined;
    const error = asOperatorError(thrown);
    const { log, namespace } = this.#options;
    if (this.#failure !== error.message) {
      log.warn({ namespace, name: WEBHOOKS, code: error.code, error: error.message }, "the webhooks' certificate");
    }
    this.#failure = error.message;
    return undefined;
  }
}
