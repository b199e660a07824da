// `npx tsx test/examples/plugin/start.ts` runs the example until Ctrl-C.
import { runExample } from "./run-example.js";

const { hostUrl, pluginUrl, close } = await runExample({ hostPort: 4100, pluginPort: 4101 });
console.log(`The host application, with the plugin in its sidebar (Variant A): ${hostUrl}`);
console.log(`The same page on its own, which logs in (Variant B):             ${pluginUrl}`);
console.log("Ada Lovelace may see the devices, Grace Hopper may not. Ctrl-C ends it.");
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, close);
