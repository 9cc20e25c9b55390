import { describe, expect, test } from "vitest";
import type { KubeObject } from "#kube/kinds.ts";
import { type GivenMetadata, givenText, withGiven, withoutGiven } from "./given-metadata.ts";

const OWN = { "app.kubernetes.io/name": "etcd" };
const KEYS = "etcd.improbable.io/metadata-keys";
const textOf = (given?: GivenMetadata) => givenText(withGiven(OWN, given));

function live(metadata: Required<Pick<KubeObject["metadata"], "labels" | "annotations">>): KubeObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "a", uid: "u", resourceVersion: "1", ...metadata } };
}

test("the operator's own labels take precedence over those of the spec", () => {
  expect(withGiven(OWN, { labels: { "app.kubernetes.io/name": "mine", team: "a" } }).labels).toEqual({
    "app.kubernetes.io/name": "etcd",
    team: "a",
  });
});

test("an object without labels and annotations of a spec has only the operator's labels", () => {
  expect(withGiven(OWN, { labels: {}, annotations: {} })).toEqual({ labels: OWN });
});

describe("the text that identifies labels and annotations of a spec", () => {
  const given = { labels: { team: "a" }, annotations: { copy: "b" } };
  const wanted = withGiven(OWN, given);

  test("is none without them", () => {
    expect([textOf(), textOf({ labels: {}, annotations: {} }), givenText({})]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("is the same with further labels and annotations of other clients, and with other values of these", () => {
    const more = { labels: { ...wanted.labels, mine: "c" }, annotations: { ...wanted.annotations, mine: "d" } };
    expect(givenText(more)).toBe(textOf(given));
  });

  test.each<[string, GivenMetadata]>([
    ["another label of the spec", withGiven(OWN, { ...given, labels: { team: "a", tier: "b" } })],
    ["another annotation of the spec", withGiven(OWN, { ...given, annotations: { copy: "b", more: "c" } })],
    ["no label of the spec", withGiven(OWN, { annotations: given.annotations })],
    ["a label with a changed value", { ...wanted, labels: { ...OWN, team: "b" } }],
    ["a removed label", { ...wanted, labels: OWN }],
    ["an annotation with a changed value", { ...wanted, annotations: { ...wanted.annotations, copy: "c" } }],
    ["a removed annotation", { ...wanted, annotations: { [KEYS]: wanted.annotations?.[KEYS] ?? "" } }],
    ["a list of keys that is invalid", { ...wanted, annotations: { ...wanted.annotations, [KEYS]: "{" } }],
    ["a list of keys that is no object", { ...wanted, annotations: { ...wanted.annotations, [KEYS]: "null" } }],
  ])("differs with %s", (_, metadata) => {
    expect(givenText(metadata)).not.toBe(textOf(given));
  });
});

test("what a spec gave is taken away, and what other clients added stays", () => {
  const { labels, annotations } = withGiven(OWN, { labels: { team: "a" }, annotations: { copy: "b" } });
  const object = live({ labels: { ...labels, mine: "c" }, annotations: { ...annotations, mine: "d" } });
  expect(withoutGiven(object).metadata).toMatchObject({ labels: { ...OWN, mine: "c" }, annotations: { mine: "d" } });
  expect(Object.keys(withoutGiven(object).metadata.labels ?? {})).not.toContain("team");
  expect(Object.keys(withoutGiven(object).metadata.annotations ?? {})).toEqual(["mine"]);
});
