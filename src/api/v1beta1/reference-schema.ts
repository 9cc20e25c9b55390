import { z } from "zod";

/** Name of a Secret in the same namespace. */
export const secretName = z.string().min(1).max(253);

const MAX_URL_LENGTH = 512;

/** Schema of a server's URL without a path. @param example for the message */
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
