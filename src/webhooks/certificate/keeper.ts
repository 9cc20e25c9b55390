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

// Which replica writes?
//   Every replica serves with the certificate in one Secret. The lease holder writes the Secret when it is due, and the
//   CAs into the objects that configure calls. A starting replica writes, too: it cannot know whether there is a lease
//   holder, and its caches may need just this certificate to sync. So does a replica that never had a certificate and
//   twice finds no Secret, because the lease holder may check only minutes later. The writes depend on the Secret
//   alone, so two writers agree.
// Which certificate does a replica serve with?
//   The newest that the API server trusts. A new one is used only some seconds after its CA was seen as trusted, unless
//   there is nothing better.
// Why is the Secret not watched?
//   A watch needs the right to list Secrets. Polling every few minutes is enough for what changes a few times a year.

/** An object that configures which CAs the API server trusts when it calls a webhook. */
export interface BundleHolder<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly name: string;
  /** Returns the object with every client configuration changed. */
  readonly edited: (object: T, change: <C extends ClientConfig>(config: C) => C) => T;
}

/** Interval between reads of the Secret, in milliseconds. */
const STEADY_MS = 300_000;
/**
 * Interval in milliseconds while a change is under way or the process starts. Also the time for every API server to
 * notice a new CA.
 */
const SETTLE_MS = 5_000;
/** Delay in milliseconds after a conflict with another replica. */
const AGAIN_MS = 100;
const RETRY: Backoff = { firstMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0.3 };

interface KeeperOptions {
  readonly kube: Pick<KubeClient, "find" | "create" | "replace">;
  readonly clock: Clock;
  readonly log: Log;
  /** The operator's namespace, with the Service that leads to the server. */
  readonly namespace: string;
  readonly holders: readonly BundleHolder<KubeObject>[];
  /** Whether this process leads, or cannot know whether another process does. */
  readonly mayWrite: () => boolean;
  /**
   * Whether the caches of this process are not synced yet. Definitions that are installed later make the API server
   * call it.
   */
  readonly isStarting?: () => boolean;
  readonly show: (serving: ServingCertificate) => void;
}

/** The DNS name by which the API server calls the webhooks' Service. */
export function webhookHost(namespace: string): string {
  return `${WEBHOOKS}.${namespace}.svc`;
}

/** Issues, renews and uses the certificate of the webhooks, and makes the API server trust its CA. */
export class CertificateKeeper {
  readonly #options: KeeperOptions;
  /** The certificate in use, in PEM. */
  #shown: string | undefined;
  /** The CAs last known as trusted, in PEM: other replicas may still serve with their certificates. */
  #authorities: readonly string[] = [];
  /** The certificate to be used next, and since when its CA is trusted. */
  #next: { readonly certificate: string; readonly sinceMs: number } | undefined;
  #failure = "";
  /** Whether this process has issued a certificate, and has not yet published its CA everywhere. */
  #mustPublish = false;
  /** Number of consecutive reads without a Secret and without a certificate in use. */
  #missing = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Why the server cannot be called; undefined when it can. */
  get fault(): string | undefined {
    if (this.#shown === undefined) return `has no certificate yet${this.#failure === "" ? "" : `: ${this.#failure}`}`;
    if (isValid(this.#shown, this.#options.clock.wallMs())) return undefined;
    return `its certificate has expired${this.#failure === "" ? "" : `: ${this.#failure}`}`;
  }

  /** Runs `look` periodically until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const next = await this.look(signal).catch((thrown: unknown) => this.#noteFailure(thrown, signal));
      failures = next === undefined ? failures + 1 : 0;
      const waitMs = next ?? delayMs(RETRY, failures - 1, Math.random());
      const longestMs = this.#options.isStarting?.() === true ? SETTLE_MS : STEADY_MS;
      await clock.sleep(Math.min(waitMs, longestMs), signal).catch(() => undefined); // aborted
    }
  }

  /**
   * Reads the Secret and all objects that trust it, and makes the necessary changes.
   * @returns the time until the next run, in milliseconds
   */
  async look(signal: AbortSignal): Promise<number> {
    try {
      const live = await this.#secret(signal);
      const { material, due } = await this.#renewed(live, signal);
      if (material === undefined) return this.#shown === undefined ? SETTLE_MS : STEADY_MS;
      const isTrusted = await this.#publishTrust(material, signal).catch((thrown: unknown) => {
        this.#useWhenTrusted(material, false); // the CA may be trusted already
        throw thrown;
      });
      this.#authorities = certificatesIn(bundleOf(material));
      this.#failure = "";
      const next = this.#useWhenTrusted(material, isTrusted);
      if (due !== "earlier" || next !== STEADY_MS || !this.#options.mayWrite()) return next;
      await this.#write({ ...material, earlier: [] }, live, signal);
      return AGAIN_MS;
    } catch (thrown) {
      // another replica wrote first, and its version counts
      if (hasCode(thrown, "KubeConflict", "KubeAlreadyExists")) return AGAIN_MS;
      throw thrown;
    }
  }

  async #secret(signal: AbortSignal): Promise<Secret | undefined> {
    const { kube, namespace } = this.#options;
    const found = await kube.find(SECRETS, { namespace, name: WEBHOOKS }, { signal });
    if (found.is === "unknown") throw new OperatorError("KubeUnavailable", found.why);
    return found.is === "present" ? found.value : undefined;
  }

  /** The material to be used; undefined when there is none and this replica must not create it. */
  async #renewed(
    live: Secret | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly material: Material | undefined; readonly due?: Due | undefined }> {
    const { clock, namespace } = this.#options;
    const found = live === undefined ? { unusable: "it does not exist" } : materialOf(live);
    const material = "unusable" in found ? undefined : found;
    const due = material === undefined ? "authority" : dueOf(material, webhookHost(namespace), clock.wallMs());
    this.#missing = live === undefined && this.#shown === undefined ? this.#missing + 1 : 0;
    if (due === undefined || due === "earlier" || !(this.#mayWrite() || this.#missing > 1)) return { material, due };
    const why =
      "unusable" in found ? found.unusable : `its ${due === "serving" ? "certificate" : "CA"} is due for renewal`;
    if (live !== undefined && !isOwnSecret(live)) {
      const is = `Secret ${namespace}/${WEBHOOKS} does not have the operator's label, and ${why}`;
      if (material === undefined)
        throw new OperatorError("InvalidConfig", `${is}; delete it so that the operator creates it again`);
      this.#options.log.warn({ namespace, name: WEBHOOKS }, `${is}: it is used until it expires`);
      return { material };
    }
    const remade = await this.#remade(due, material, signal);
    await this.#write(remade, live, signal);
    this.#mustPublish = true;
    this.#options.log.info({ namespace, name: WEBHOOKS, because: why }, "issued a certificate for the webhooks");
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
    // POST instead of apply: of two starting replicas one creates it, and the other one reads it.
    if (live === undefined) await kube.create(SECRETS, draft, { signal });
    else await kube.replace(SECRETS, draft, { signal });
  }

  /** The CAs that the API server trusts at present, from all objects that can be read. */
  async #trustedNow(signal: AbortSignal): Promise<readonly string[]> {
    const trusted: string[] = [];
    for (const holder of this.#options.holders) {
      const found = await this.#options.kube.find(holder.resource, { name: holder.name }, { signal });
      if (found.is === "present") trusted.push(...this.#configsIn(holder, found.value).flatMap(trustedBy));
    }
    return trusted;
  }

  /**
   * Publishes the CAs in every object that configures calls. @returns whether the CA of the certificate is trusted
   * everywhere
   */
  async #publishTrust(material: Material, signal: AbortSignal): Promise<boolean> {
    const { holders } = this.#options;
    if (!this.#mayWrite() && this.#shown === material.serving.certificate) return true;
    const authorities = certificatesIn(bundleOf(material));
    let isTrusted = true;
    for (const holder of holders) {
      const object = await this.#held(holder, signal);
      if (object === undefined) continue; // this webhook is not configured
      const configs = this.#configsIn(holder, object);
      if (configs.every((config) => trusts(config, authorities))) continue;
      if (this.#mayWrite()) await this.#publish(holder, object, authorities, signal);
      else isTrusted &&= configs.every((config) => isTrustedBy(material.serving.certificate, trustedBy(config)));
    }
    this.#mustPublish = false;
    return isTrusted;
  }

  /**
   * A process that has issued a certificate also publishes its CA, even if it learns in between that it does not lead.
   */
  #mayWrite(): boolean {
    return this.#mustPublish || this.#options.mayWrite();
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

  async #publish<T extends KubeObject>(
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
    log.info(fields, "published the webhooks' CA to the API server");
  }

  /** @returns the time until the next run, in milliseconds */
  #useWhenTrusted({ serving }: Material, isTrusted: boolean): number {
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
    log.info({ namespace, name: WEBHOOKS }, "the webhooks use a new certificate");
    return STEADY_MS;
  }

  /** Logs each failure once. */
  #noteFailure(thrown: unknown, signal: AbortSignal): undefined {
    if (signal.aborted) return undefined;
    const error = asOperatorError(thrown);
    const { log, namespace } = this.#options;
    if (this.#failure !== error.message) {
      log.warn(
        { namespace, name: WEBHOOKS, code: error.code, error: error.message },
        "could not keep the webhooks' certificate up to date",
      );
    }
    this.#failure = error.message;
    return undefined;
  }
}
