#!/usr/bin/env node
require("./start.cjs").start("mullion");
