import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present } from "#base/observed.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { controllerOf, type KubeObject, type Ref, type Resource } from "#kube/kinds.ts";
import type { Written } from "#runtime/controller.ts";
import { answered } from "./answered.ts";
import { FakeClock } from "./fake-clock.ts";

export type Live = KubeObject & {
  metadata: { namespace: string; finalizers?: readonly string[]; deletionTimestamp?: string };
};

/** A write that was made: one of an operator's. */
export interface ApiWrite {
  readonly verb: "create" | "replace" | "patch" | "delete";
  readonly plural: string;
  readonly name: string;
  readonly before: Live | undefined;
  readonly after: Live | undefined;
}

/** before, after: the operator dies before the write, or after it, without having heard. lost: it lives and has not heard. refused: a policy does. */
export type Fault = "before" | "after" | "lost" | "refused";

const DEAD = () => new OperatorError("LeaseLost", "this process is dead");
const UNHEARD = () => new OperatorError("KubeUnavailable", "the connection broke");

/** An API server for operators that die at any of their writes, with the caches that they read, which may be behind. */
export class FallibleApi {
  readonly clock: FakeClock;
  /** What operators have written. */
  readonly writes: ApiWrite[] = [];
  /** By number of a try to write, from 1. */
  readonly faults = new Map<number, Fault>();
  tries = 0;
  isDead = false;
  /** Requests of operators and beginnings of their looks: at each of them something else may happen first. */
  readonly seen: { readonly is: "look" | "request"; readonly version: number }[] = [];
  readonly happenings = new Map<number, () => void>();
  readonly #objects = new Map<string, Live>();
  /** By kind: what caches show. */
  readonly #shown = new Map<string, ReadonlyMap<string, Live>>();
  /** It goes up with every change. */
  version = 1_000;
  /** What it was when the look began that is under way. */
  lookedFrom = 1_000;
  /** By kind and name: the version in which it went last. */
  readonly goneAt = new Map<string, { readonly version: number; readonly object: Live }>();

  constructor(startMs: number) {
    this.clock = new FakeClock(startMs);
  }

  /** What the API server makes of what an operator wants made. */
  protected admitted(_plural: string, draft: KubeObject): KubeObject {
    return draft;
  }

  /** An operator has written. */
  protected written(_write: ApiWrite): void {}

  find<T extends KubeObject>(plural: string, name: string): T | undefined {
    return this.#objects.get(`${plural}/${name}`) as unknown as T | undefined;
  }

  all<T extends KubeObject>(plural: string): readonly T[] {
    return [...this.#objects].flatMap(([key, object]) =>
      key.startsWith(`${plural}/`) ? [object as unknown as T] : [],
    );
  }

  /** All of the kind that have been there at any moment of the look that is under way. */
  allOfLook<T extends KubeObject>(plural: string): readonly T[] {
    const gone = [...this.goneAt].filter(
      ([key, { version }]) => key.startsWith(`${plural}/`) && version > this.lookedFrom,
    );
    return [...this.all<T>(plural), ...gone.map(([, { object }]) => object as unknown as T)];
  }

  /** Stores the object, as anybody does. */
  put<T extends KubeObject>(plural: string, object: KubeObject): T {
    this.version += 1;
    const { uid = `uid-${this.version}`, creationTimestamp = rfc3339(this.clock.wallMs()) } =
      object.metadata as Partial<Live["metadata"]>;
    const metadata = { ...object.metadata, uid, creationTimestamp, resourceVersion: String(this.version) };
    this.#objects.set(`${plural}/${metadata.name}`, { ...object, metadata } as Live);
    this.#collect();
    return this.find<T>(plural, metadata.name) as T;
  }

  /** Deletes the object, as anybody does: what has a finalizer stays until that is gone. */
  remove(plural: string, name: string): void {
    const live = this.#objects.get(`${plural}/${name}`);
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) return;
    this.put(plural, {
      ...live,
      metadata: { ...live.metadata, deletionTimestamp: rfc3339(this.clock.wallMs()) },
    } as KubeObject);
  }

  /** Caches of these kinds, or of all, show what is there. */
  show(...plurals: readonly string[]): void {
    for (const [key] of this.#objects) {
      const plural = key.slice(0, key.indexOf("/"));
      if (!this.#shown.has(plural)) this.#shown.set(plural, new Map());
    }
    for (const plural of plurals.length > 0 ? plurals : this.#shown.keys())
      this.#shown.set(plural, new Map(this.all<Live>(plural).map((object) => [object.metadata.name, object])));
  }

  /** What a cache shows. @param labels by index: the label whose value it goes by, behind the namespace */
  view(plural: string, labels: Readonly<Record<string, string>> = {}) {
    const shown = () => this.#shown.get(plural) ?? new Map<string, Live>();
    return {
      get: ({ name }: Ref) => shown().get(name),
      byIndex: (index: string, value: string) =>
        [...shown().values()].filter(
          ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[labels[index] ?? ""]}` === value,
        ),
    };
  }

  /** As those of the operator: what it has written it sees before it decides again. */
  readonly expectations = {
    expect: (_: unknown, written: Written) => {
      if (written.kind === "stored" || written.kind === "deleted") this.show(written.resource.plural);
    },
    refused: (_: unknown, { plural }: { plural: string }) => this.show(plural),
    unmet: () => undefined,
  };

  /** Before a request, or a look, of an operator. */
  moment(is: "look" | "request"): void {
    this.seen.push({ is, version: this.version });
    this.happenings.get(this.seen.length)?.();
  }

  /** What an operator may ask, until it dies. */
  client() {
    return {
      list: ({ plural }: Resource<KubeObject>) => {
        this.moment("request");
        if (this.isDead) throw DEAD();
        return Promise.resolve({ items: this.all(plural), resourceVersion: String(this.version) });
      },
      find: ({ plural }: Resource<KubeObject>, { name }: Ref) => Promise.resolve(this.#read(plural, name)),
      get: ({ plural }: Resource<KubeObject>, { name }: Ref) => answered(this.#read(plural, name)),
      create: ({ plural }: Resource<KubeObject>, draft: KubeObject) =>
        this.#change("create", plural, draft.metadata.name, () => {
          if (this.find(plural, draft.metadata.name) !== undefined)
            throw new OperatorError("KubeAlreadyExists", `${plural} ${draft.metadata.name} is there`);
          this.put(plural, this.admitted(plural, draft));
        }),
      replace: ({ plural }: Resource<KubeObject>, object: Live & { status?: unknown }) =>
        this.#change("replace", plural, object.metadata.name, () => {
          const live = this.#same(plural, object.metadata.name, object.metadata);
          this.put(plural, { ...live, status: object.status } as unknown as KubeObject);
        }),
      patch: (
        { plural }: Resource<KubeObject>,
        { name }: Ref,
        { metadata }: { metadata: { annotations?: object } },
        { preconditions }: { preconditions: object },
      ) =>
        this.#change("patch", plural, name, () => {
          const live = this.#same(plural, name, preconditions);
          const annotations = { ...live.metadata.annotations, ...metadata.annotations };
          this.put(plural, { ...live, metadata: { ...live.metadata, ...metadata, annotations } } as KubeObject);
        }),
      delete: ({ plural }: Resource<KubeObject>, { name }: Ref, { preconditions }: { preconditions: object }) =>
        this.#change("delete", plural, name, () => {
          this.#same(plural, name, preconditions);
          this.remove(plural, name);
        }),
    };
  }

  #read(plural: string, name: string): Observed<KubeObject> {
    this.moment("request");
    if (this.isDead) throw DEAD();
    const live = this.find(plural, name);
    return live === undefined ? absent : present(live);
  }

  #change(verb: ApiWrite["verb"], plural: string, name: string, make: () => void): Promise<KubeObject | undefined> {
    this.moment("request");
    if (this.isDead) throw DEAD();
    this.tries += 1;
    const fault = this.faults.get(this.tries);
    if (fault === "refused") throw new OperatorError("KubeForbidden", "a policy forbids it");
    this.isDead = fault === "before" || fault === "after";
    if (fault === "before") throw DEAD();
    const before = this.find<Live>(plural, name);
    make();
    const after = this.find<Live>(plural, name);
    const write = { verb, plural, name, before, after };
    this.writes.push(write);
    this.written(write);
    if (fault !== undefined) throw UNHEARD();
    return Promise.resolve(after);
  }

  #same(plural: string, name: string, wanted: { uid?: string; resourceVersion?: string }): Live {
    const live = this.#objects.get(`${plural}/${name}`);
    if (live === undefined) throw new OperatorError("KubeNotFound", `${plural} ${name} is gone`);
    const { uid, resourceVersion } = { ...live.metadata, ...wanted };
    if (uid === live.metadata.uid && resourceVersion === live.metadata.resourceVersion) return live;
    throw new OperatorError("KubeConflict", `${plural} ${name} has changed`);
  }

  /** Who waits for nothing more goes, and takes along what it owns. */
  #collect(): void {
    for (const [key, { metadata }] of this.#objects)
      if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
        this.goneAt.set(key, { version: this.version, object: this.#objects.get(key) as Live });
        this.#objects.delete(key);
      }
    const uids = new Set([...this.#objects.values()].map(({ metadata }) => metadata.uid));
    const orphan = [...this.#objects].find(([, object]) => {
      const owner = controllerOf(object);
      return owner !== undefined && !uids.has(owner.uid) && object.metadata.deletionTimestamp === undefined;
    });
    if (orphan === undefined) return;
    const [key, { metadata }] = orphan;
    this.remove(key.slice(0, key.indexOf("/")), metadata.name);
  }
}
