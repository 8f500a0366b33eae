// A provider and an assertion for promptfoo: the provider returns what a run has for a query, the assertion scores it.
// With the environment variable KARAT_HOSTS it is loaded before promptfoo, and writes whom the process asks for.
const fs = require("fs");

if (process.env.KARAT_HOSTS) {
  const dns = require("dns");
  const note = (original) =>
    function (host, ...rest) {
      fs.appendFileSync(process.env.KARAT_HOSTS, `${host}\n`);
      return original.call(this, host, ...rest);
    };
  dns.lookup = note(dns.lookup);
  dns.promises.lookup = note(dns.promises.lookup);
}

module.exports = class {
  id() {
    return "run";
  }
  async callApi(prompt, context) {
    if (context.vars.failed) throw new Error("the system failed");
    return { output: JSON.stringify(context.vars.hits) };
  }
};

module.exports.assertPrecision = (output, context) => {
  const { score, good } = context.vars;
  const value = score ?? JSON.parse(output).slice(0, 5).filter((id) => good.includes(id)).length / 5;
  return { pass: value >= 0.5, score: value, reason: "P@5" };
};
