import { z } from "zod";

/** Maximum length in characters. The API server refuses rules with a high estimated cost. */
const MAX_LENGTH = 600;
/**
 * Content of a placeholder. Go's `{{-` and `-}}`, which trim white space, are accepted too; a URL has no white space to
 * trim.
 */
const KNOWN = "-? *[.](Namespace|Name|UID|CreationTimestamp) *-?";
const ANY = "[{]{2}[^}]*[}]{2}";
const IS_KNOWN = `each.matches('[{]${KNOWN}}')`;
const MAY = "it may have {{ .Namespace }}, {{ .Name }}, {{ .UID }} and {{ .CreationTimestamp }}";

/** Schema of the template in both versions. src/api/object-url.ts renders it. */
export const objectURLTemplateSchema = z
  .string()
  .min(1)
  .max(MAX_LENGTH)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `self.findAll('${ANY}').all(each, ${IS_KNOWN})`,
        messageExpression: `'the template has ' + self.findAll('${ANY}').filter(each, !${IS_KNOWN})[0] + '; ${MAY}'`,
        message: `the template has something else; ${MAY}`,
      },
      {
        rule: `self.matches('^([{]{2}${KNOWN}[}]{2}|[^{}])*$')`,
        message: `the template has a brace that belongs to no placeholder; ${MAY}`,
      },
    ],
  })
  .describe(
    "URL of the object, such as s3://bucket/{{ .Namespace }}/{{ .Name }}.db?region=eu-west-1, gs://bucket/{{ .UID }}.db or azblob://container/backup.db?storage_account=mine. The placeholders {{ .Namespace }}, {{ .Name }}, {{ .UID }} and {{ .CreationTimestamp }} are those of the EtcdBackup.",
  );
