import { expect, test } from "vitest";
import { commonNameIn } from "#certificates/common-name.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";

const now = Date.now();
const validity = { fromMs: now - 60_000, untilMs: now + 60_000 };

test.each<{ commonName: string | undefined; found: string | undefined }>([
  { commonName: "etcd-cluster-operator", found: "etcd-cluster-operator" },
  { commonName: "Jane Doe@example.com", found: "Jane Doe@example.com" },
  { commonName: undefined, found: "" },
  { commonName: "Jürgen", found: undefined },
])("the common name $commonName is read as $found", async ({ commonName, found }) => {
  const authority = await newAuthority("test", validity);
  const leaf = await newLeaf(authority, { commonName, names: ["a.example"], usages: ["clientAuth"], ...validity });
  // Only the first certificate belongs to the client.
  expect(commonNameIn(leaf.certificate + authority.certificate)).toBe(found);
});

test("a text without a certificate has no common name", () => {
  expect(commonNameIn("")).toBeUndefined();
});
