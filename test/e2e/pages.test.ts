import { describe, expect, test } from "vitest";
import { typePage } from "#kit/e2e/page-run.ts";
import { pagesOf } from "#kit/pages/pages.ts";

// The commands of README.md and docs, as a reader types them. Pages that take longer: test/long/pages.test.ts.

describe.concurrent("every command succeeds, in the order of the page", () => {
  test.each(pagesOf("quick"))("%s", async (path, page) => {
    expect(await typePage(path, page)).toContain("after the page");
  });
});
