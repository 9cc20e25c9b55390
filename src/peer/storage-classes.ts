import { unlessAborted } from "#base/abort.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import type { KubeClient } from "#kube/client.ts";
import { STORAGE_CLASSES, type StorageClass } from "#kube/kinds.ts";

/**
 * StorageClasses, listed with one request for all peers that need them at the same time. Without a default class every
 * member of every cluster waits for its volume, and each would send its own request.
 */
export class StorageClasses {
  readonly #kube: Pick<KubeClient, "list">;
  #pending: Promise<Observed<readonly StorageClass[]>> | undefined;

  constructor(kube: Pick<KubeClient, "list">) {
    this.#kube = kube;
  }

  /** @throws what the signal was aborted with; OperatorError Cancelled, Bug */
  async read(signal: AbortSignal): Promise<Observed<readonly StorageClass[]>> {
    signal.throwIfAborted();
    this.#pending ??= this.#list().finally(() => {
      this.#pending = undefined;
    });
    return await unlessAborted(this.#pending, signal);
  }

  /** Storage classes only improve a message, so a failed read does not stop the observation of a member. */
  async #list(): Promise<Observed<readonly StorageClass[]>> {
    // A caller that aborts must not end the shared request; the request has its own deadline.
    const { signal } = new AbortController();
    try {
      return present((await this.#kube.list(STORAGE_CLASSES, {}, { signal })).items);
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
      return unknown(thrown.message);
    }
  }
}
