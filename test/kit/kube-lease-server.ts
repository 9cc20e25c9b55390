import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import type { CallOptions, JsonPatch, PatchOptions } from "#kube/client.ts";
import type { Draft, KubeObject, Lease, Ref, Resource } from "#kube/kinds.ts";
import type { LeaseClient } from "#kube/lease.ts";

/** What happens to one call on its way. */
export type Fate = "arrives" | "lost" | "reply-lost" | "late";

/** Of a server that does not know whether anybody waits for its answer. */
const NEVER = new AbortController().signal;

/** One lease on a server with optimistic locking, and a network that loses calls and replies as it is told. */
export class LeaseServer {
  lease: Lease | undefined;
  /** What storing a change takes; a patch is tried again when another change came first, as an API server does. undefined: nothing */
  store: (() => Promise<void>) | undefined;
  /** What a call that is late is held up by; then it is made, whether or not its caller has given it up meanwhile. */
  heldUp: () => Promise<void> = () => Promise.resolve();
  #version = 0;

  /** A client whose calls meet the fates that `fate` gives, each taking `delayMs` there and back. */
  client(fate: () => Fate, travel: () => Promise<void>): LeaseClient {
    const call = async <T>(work: (signal: AbortSignal) => T | Promise<T>, { signal }: CallOptions): Promise<T> => {
      const met = fate();
      await travel();
      if (met === "lost") throw new OperatorError("KubeUnavailable", "the call was lost");
      if (met === "late") await this.heldUp();
      const result = await work(met === "late" ? NEVER : signal);
      await travel();
      if (signal.aborted) throw new OperatorError("Cancelled", "the caller has left"); // and yet it was done
      if (met === "reply-lost") throw new OperatorError("KubeUnavailable", "the reply was lost");
      return result;
    };
    return {
      get: <T extends KubeObject>(_resource: Resource<T>, _ref: Ref, options: CallOptions) =>
        call(() => this.#read() as unknown as T, options),
      create: <T extends KubeObject>(_resource: Resource<T>, draft: Draft<T>, options: CallOptions) =>
        call(() => this.#create(draft as unknown as Draft<Lease>) as unknown as T, options),
      replace: <T extends KubeObject>(_resource: Resource<T>, draft: Draft<T>, options: CallOptions) =>
        call(() => this.#replaced(draft as unknown as Draft<Lease>) as unknown as Promise<T>, options),
      patch: <T extends KubeObject>(_resource: Resource<T>, _ref: Ref, patch: object, options: PatchOptions) =>
        call((signal) => this.#patched(patch as readonly JsonPatch[], signal) as unknown as Promise<T>, options),
    };
  }

  async #replaced(draft: Draft<Lease>): Promise<Lease> {
    await this.store?.();
    return this.#replace(draft);
  }

  async #patched(patch: readonly JsonPatch[], signal: AbortSignal): Promise<Lease> {
    while (!signal.aborted) {
      const before = this.#read();
      const after = structuredClone(before);
      for (const each of patch) apply(after, each);
      await this.store?.();
      if (this.#read().metadata.resourceVersion === before.metadata.resourceVersion) return this.#replace(after);
    }
    throw new OperatorError("Cancelled", "the caller has left");
  }

  #read(): Lease {
    if (this.lease === undefined) throw new OperatorError("KubeNotFound", "no lease");
    return this.lease;
  }

  #create(draft: Draft<Lease>): Lease {
    if (this.lease !== undefined) throw new OperatorError("KubeAlreadyExists", "there is one");
    return this.#store(draft, `uid-${this.#version}`);
  }

  #replace(draft: Draft<Lease>): Lease {
    const { metadata } = this.#read();
    if (draft.metadata.resourceVersion !== metadata.resourceVersion) throw new OperatorError("KubeConflict", "stale");
    return this.#store(draft, metadata.uid);
  }

  #store(draft: Draft<Lease>, uid: string): Lease {
    this.#version += 1;
    const metadata = { namespace: "default", ...draft.metadata, uid, resourceVersion: String(this.#version) };
    this.lease = structuredClone({ ...draft, metadata }) as Lease;
    return this.lease;
  }
}

/** The same client, for which nobody waits longer than a call may take, or after its signal has aborted; what was sent goes on. */
export function bounded(client: LeaseClient, clock: Clock): LeaseClient {
  const end = <T, Options extends CallOptions>(
    send: (options: Options) => Promise<T>,
    options: Options,
  ): Promise<T> => {
    const { signal, deadlineMs = 10_000 } = options;
    const gone = new AbortController();
    const call = send({ ...options, signal: gone.signal });
    const over = Promise.withResolvers<never>();
    const cancel = clock.after(deadlineMs, () =>
      over.reject(new OperatorError("KubeUnavailable", "no answer in time")),
    );
    const leave = (): void => over.reject(new OperatorError("Cancelled", "the caller has left"));
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    return Promise.race([call, over.promise]).finally(() => {
      cancel();
      gone.abort(); // A server that is still about to make the change hears that nobody waits for it.
      signal.removeEventListener("abort", leave);
    });
  };
  return {
    get: (resource, ref, options) => end((bound) => client.get(resource, ref, bound), options),
    create: (resource, draft, options) => end((bound) => client.create(resource, draft, bound), options),
    replace: (resource, draft, options) => end((bound) => client.replace(resource, draft, bound), options),
    patch: (resource, ref, patch, options) => end((bound) => client.patch(resource, ref, patch, bound), options),
  };
}

/** A store that takes so long for each change, and of those that are under way at the same time makes one. */
export function slowStore(clock: Clock, ms: number): () => Promise<void> {
  return () => clock.sleep(ms);
}

/** @throws OperatorError KubeInvalid when it is a test that fails, or a place that is not there */
function apply(lease: Lease, { op, path, value }: JsonPatch): void {
  const steps = path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = steps.pop() ?? "";
  let place = lease as unknown as Record<string, unknown> | undefined;
  for (const step of steps) place = place?.[step] as Record<string, unknown> | undefined;
  if (place === undefined || (op !== "add" && !(last in place)) || (op === "test" && place[last] !== value))
    throw new OperatorError("KubeInvalid", `the server rejected the patch: ${op} ${path}`);
  if (op === "remove") delete place[last];
  else if (op === "add") place[last] = value;
}
