import { expect, test } from "vitest";
import { mountedCredentials } from "#agent-job/volumes.ts";

test("the agent needs the files of a Secret that a spec names, and not those of the default Secret", () => {
  const credentialsDir = "/run/agent/credentials";
  expect(mountedCredentials(undefined)).toEqual({});
  expect(mountedCredentials({ secretName: "s3", isOptional: false })).toEqual({
    credentialsDir,
    needsCredentials: true,
  });
  expect(mountedCredentials({ secretName: "s3", isOptional: true })).toEqual({ credentialsDir });
});
