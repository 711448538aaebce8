// Loaded with --require: writes the names of all loaded modules to a file when the process ends.
const { writeFileSync } = require('node:fs');

process.on('exit', () => writeFileSync(process.env.MODULES_FILE, JSON.stringify(Object.keys(require.cache))));
