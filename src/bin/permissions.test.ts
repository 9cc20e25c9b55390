import { expect, test } from "vitest";
import { missingRightText } from "#certificates/missing-right.ts";
import { TLS_PERMISSIONS } from "./permissions.ts";

test("the message about a missing right that is granted by namespace has the command that grants it", () => {
  const kinds = TLS_PERMISSIONS.flatMap(({ apiGroups: [group = ""], resources }) => resources.map((each) => [group, each])); // biome-ignore format: one line
  expect(kinds.length).toBeGreaterThan(2);
  for (const [group, resource] of kinds) {
    const why = `User "a" cannot get resource "${resource}" in API group "${group}" in the namespace "foo"`;
    expect(missingRightText(why), resource).toContain("kubectl create rolebinding");
  }
});
