import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import type { KubeClient } from "#kube/client.ts";
import { STORAGE_CLASSES, type StorageClass } from "#kube/kinds.ts";

/**
 * The storage classes, read once for all that ask at the same time: where none is the default one every member of every cluster waits for
 * its volume, and what lies in no namespace has one turn among those of all namespaces.
 */
export class StorageClasses {
  readonly #kube: Pick<KubeClient, "list">;
  #underWay: Promise<Observed<readonly StorageClass[]>> | undefined;

  constructor(kube: Pick<KubeClient, "list">) {
    this.#kube = kube;
  }

  /** @throws what the signal was aborted with; OperatorError Cancelled, Bug */
  async read(signal: AbortSignal): Promise<Observed<readonly StorageClass[]>> {
    signal.throwIfAborted();
    this.#underWay ??= this.#list().finally(() => {
      this.#underWay = undefined;
    });
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await Promise.race([this.#underWay, aborted]);
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  /** They explain what hinders a member and decide nothing, so a member is looked at without them, too. */
  async #list(): Promise<Observed<readonly StorageClass[]>> {
    const { signal } = new AbortController(); // One who gives up does not end it for the others; its deadline does.
    try {
      return present((await this.#kube.list(STORAGE_CLASSES, {}, { signal })).items);
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
      return unknown(thrown.message);
    }
  }
}
