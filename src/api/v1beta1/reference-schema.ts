import { z } from "zod";

/** Names a Secret of the same namespace; it is mounted, and never read by the operator. */
export const secretName = z.string().min(1).max(253);

const MAX_URL_LENGTH = 512;

/** The root of a server. @param example for people */
export function urlSchema(example: string) {
  const may = `it must be http:// or https://, a host and a port, such as ${example}`;
  return z
    .string()
    .max(MAX_URL_LENGTH)
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "self.matches('^https?://[^/?#@[:space:][:cntrl:]]+/?$')",
          messageExpression: `'it is ' + self + '; ${may}'`,
          message: may,
        },
      ],
    });
}
