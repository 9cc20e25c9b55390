import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureComponents } from "#dev/components.ts";
import { Kubectl } from "#dev/kubectl.ts";
import { silentStep } from "#dev/progress.ts";
import { exampleObjects, type WrittenObject } from "#kit/clients/examples.ts";
import { KIND_SCHEMAS, type Schema, specSchema } from "#kit/clients/kind-schemas.ts";
import { type Json, type Path, pathText, valueAt, without, withValue } from "#kit/clients/spec-places.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { type Oracle, oracleFor } from "#kit/servers/kube-oracle.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import type { KubeObject } from "#kube/kinds.ts";

// Examples written by kubectl in each of its ways, and by several writers with server-side apply. Nothing is lost or
// duplicated, and a conflict names the field and the other writer.

const OPTIONS = { signal: new AbortController().signal };
const namespace = "default";
let server: ApiServer;
let kubectl: Kubectl;
let oracle: Oracle;

beforeAll(async () => {
  const { kubectl: program } = await ensureComponents(["kubectl"], silentStep);
  server = await startWithKinds([...KIND_SCHEMAS.values()].map(({ resource }) => resource));
  kubectl = new Kubectl(program, server.kubeconfig);
  oracle = oracleFor(server.kubeconfig);
});
afterAll(async () => await server?.stop());

const examples = exampleObjects().map(({ file, object }, n) => ({
  of: `${object.kind} ${object.metadata.name} of ${file}`,
  object: { ...object, metadata: { ...object.metadata, name: `example-${n}`, namespace } },
}));

async function storedSpec({ kind, metadata: { name } }: WrittenObject): Promise<Json> {
  const object = await server.client.get<KubeObject>(KIND_SCHEMAS.get(kind)!.resource, { namespace, name }, OPTIONS);
  return (object as unknown as { readonly spec: Json }).spec;
}

/** Runs kubectl with an object as its input. @returns its output, with the errors */
async function write(args: readonly string[], object: object): Promise<string> {
  const { stdout, stderr } = await kubectl.run([...args, "-f", "-"], { input: JSON.stringify(object), mayFail: true });
  return stdout + stderr;
}

/** Server-side apply of a spec by a writer. @returns the refusal, or undefined */
async function apply(writer: string, object: WrittenObject, spec: Json): Promise<string | undefined> {
  return await oracle.apply({ ...object, spec }, writer);
}

/** A different value of the same type. */
function different(value: unknown): unknown {
  if (typeof value === "number") return value + 1;
  return typeof value === "boolean" ? !value : `x${String(value)}`;
}

/** Paths of all scalars that a writer can own alone: neither values of a set, nor keys of a list with keys. */
function leaves(value: unknown, schema: Schema = {}): readonly Path[] {
  if (typeof value !== "object" || value === null) return [[]];
  if (schema["x-kubernetes-list-type"] === "set") return [];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  return Object.entries(value).flatMap(([name, child]) => {
    const step = Array.isArray(value) ? Number(name) : name;
    const below = leaves(child, schema.items ?? schema.properties?.[name] ?? schema.additionalProperties);
    return below.filter((path) => !keys.includes(String(path[0]))).map((path) => [step, ...path]);
  });
}

interface List {
  readonly path: Path;
  readonly items: readonly unknown[];
  readonly schema: Schema;
}

/** All lists of a spec that have a schema. */
function listsIn(value: unknown, schema: Schema, path: Path = []): readonly List[] {
  if (Array.isArray(value))
    return [
      { path, items: value, schema },
      ...value.flatMap((each, n) => listsIn(each, schema.items ?? {}, [...path, n])),
    ];
  if (typeof value !== "object" || value === null || schema.properties === undefined) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const own = schema.properties?.[name];
    return own === undefined ? [] : listsIn(child, own, [...path, name]);
  });
}

/** A further item of a list: with another key, or another value. */
function furtherItem({ items: [item], schema }: List): unknown {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (keys.length > 0) return Object.fromEntries(keys.map((key) => [key, different((item as Json)[key])]));
  const [path = []] = leaves(item, schema.items);
  return withValue({ item }, ["item", ...path], different(valueAt(item, path))).item;
}

/** A spec with only a list of one item, and what is above the list. */
function only([step, ...rest]: Path, item: unknown, from: unknown): unknown {
  if (step === undefined) return [item];
  const inner = only(rest, item, valueAt(from, [step]));
  return typeof step === "number" ? [inner] : { [step]: inner };
}

describe.each(examples)("$of", ({ object }) => {
  const schema = specSchema(object.kind);

  test("is created by kubectl apply, applied again without a change, and replaced", async () => {
    expect(await write(["apply"], object)).toContain(" created");
    const spec = await storedSpec(object);
    expect(spec).toMatchObject(object.spec);
    expect(await write(["apply"], object)).toContain(" unchanged");
    expect(await write(["replace"], object)).toContain(" replaced");
    expect(await storedSpec(object)).toEqual(spec);
    expect(await write(["delete"], object)).toContain(" deleted");
  });

  test("is shared by two writers, one for each field of spec, and a conflict names the field", async () => {
    expect(await apply("rest", object, object.spec)).toBeUndefined();
    const spec = await storedSpec(object);
    for (const [field, own] of Object.entries(object.spec)) {
      expect(await apply("one", object, { [field]: own })).toBeUndefined();
      expect(await apply("rest", object, without(object.spec, [field]))).toBeUndefined();
      expect(await storedSpec(object), field).toEqual(spec);
      for (const path of leaves(own, schema.properties?.[field]).slice(0, 1)) {
        const at = [field, ...path];
        const conflict = await apply("rest", object, withValue(object.spec, at, different(valueAt(object.spec, at))));
        expect(conflict).toContain(`conflict with "one"`);
        expect(conflict).toContain(`.spec.${field}`);
      }
      expect(await apply("rest", object, object.spec)).toBeUndefined();
      expect(await storedSpec(object), field).toEqual(spec);
    }
  });

  const lists = listsIn(object.spec, schema).map((list) => ({ ...list, at: pathText(list.path) }));
  const keyed = lists.filter(({ schema: { "x-kubernetes-list-type": type } }) => type === "map" || type === "set");
  test.each(keyed)("keeps an item of a third writer in $at, until it takes the item back", async (list) => {
    const before = await storedSpec(object);
    const items = valueAt(before, list.path) as readonly unknown[];
    const item = furtherItem(list);
    const withItem = [...items, item];
    expect(await apply("third", object, only(list.path, item, object.spec) as Json)).toBeUndefined();
    expect(valueAt(await storedSpec(object), list.path)).toEqual(withItem);
    expect(await apply("rest", object, object.spec)).toBeUndefined();
    expect(valueAt(await storedSpec(object), list.path)).toEqual(withItem);
    expect(await apply("third", object, {})).toBeUndefined();
    expect(await storedSpec(object)).toEqual(before);
  });

  test.each(lists.filter((list) => !keyed.includes(list)))("belongs to one writer in $at", async (list) => {
    const before = await storedSpec(object);
    const refusal = await apply("third", object, only(list.path, furtherItem(list), object.spec) as Json);
    expect(refusal).toContain(`.${pathText(list.path)}`);
    expect(await storedSpec(object)).toEqual(before);
  });
});
