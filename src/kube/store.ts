import { OperatorError } from "#base/error.ts";
import { isSameData } from "#base/hash.ts";
import { type KubeObject, keyOf, type Ref } from "./kinds.ts";

/** What happened to one object. `object` is the last known state when it was deleted. */
export interface Change<T> {
  readonly type: "added" | "modified" | "deleted";
  readonly object: T;
  /** The state before; with `modified` only. */
  readonly previous?: T;
}

/** Values under which an object is to be found; none, one or several. */
export type IndexBy<T> = (object: T) => readonly string[];

/**
 * Objects of one kind by key, and the keys by index value. Every writing method says what has changed; a uid that changed
 * under one name is told as deleted and added, since it is another object.
 */
export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, { readonly by: IndexBy<T>; readonly keys: Map<string, Set<string>> }>();

  constructor(indexes: Readonly<Record<string, IndexBy<T>>> = {}) {
    for (const [name, by] of Object.entries(indexes)) this.#indexes.set(name, { by, keys: new Map() });
  }

  get size(): number {
    return this.#objects.size;
  }

  get(ref: Ref): T | undefined {
    return this.#objects.get(keyOf(ref));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** In the order of their keys, so that equal contents give equal answers. */
  byIndex(index: string, value: string): readonly T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new OperatorError("Bug", `there is no index "${index}"`);
    const keys = [...(found.keys.get(value) ?? [])].sort();
    return keys.map((key) => this.#objects.get(key)).filter((object) => object !== undefined);
  }

  /** Adds or replaces one object; one of which nothing but the resourceVersion differs has not changed. */
  put(object: T): readonly Change<T>[] {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined && isSame(previous, object)) return [];
    if (previous !== undefined) this.#unindex(key, previous);
    this.#objects.set(key, object);
    this.#index(key, object);
    if (previous === undefined) return [{ type: "added", object }];
    if (previous.metadata.uid === object.metadata.uid)
      return isSameContent(previous, object) ? [] : [{ type: "modified", object, previous }];
    return [
      { type: "deleted", object: previous },
      { type: "added", object },
    ];
  }

  /** Removes the object of this name; the change carries `object`, the state at deletion. */
  remove(object: T): readonly Change<T>[] {
    const isIt = ({ metadata }: T): boolean => metadata.uid === object.metadata.uid;
    return this.drop(object.metadata).map((gone) => (isIt(gone.object) ? { ...gone, object } : gone));
  }

  /** Removes what is here of this name; the change carries it as it was here. */
  drop(ref: Ref): readonly Change<T>[] {
    const key = keyOf(ref);
    const object = this.#objects.get(key);
    if (object === undefined) return [];
    this.#unindex(key, object);
    this.#objects.delete(key);
    return [{ type: "deleted", object }];
  }

  /** Makes `objects` the whole content; says what that changed, deletions first. */
  replace(objects: readonly T[]): readonly Change<T>[] {
    const wanted = new Set(objects.map((object) => keyOf(object)));
    const gone = this.list().filter((object) => !wanted.has(keyOf(object)));
    return [...gone.flatMap(({ metadata }) => this.drop(metadata)), ...objects.flatMap((object) => this.put(object))];
  }

  #index(key: string, object: T): void {
    for (const { by, keys } of this.#indexes.values()) {
      for (const value of by(object)) {
        const set = keys.get(value) ?? new Set();
        keys.set(value, set.add(key));
      }
    }
  }

  #unindex(key: string, object: T): void {
    for (const { by, keys } of this.#indexes.values()) {
      for (const value of by(object)) {
        const set = keys.get(value);
        set?.delete(key);
        if (set?.size === 0) keys.delete(value);
      }
    }
  }
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

/** Of what is kept: others may have changed what nobody here reads. */
function isSameContent(a: KubeObject, b: KubeObject): boolean {
  const { resourceVersion } = a.metadata;
  return isSameData(a, { ...b, metadata: { ...b.metadata, resourceVersion } });
}
