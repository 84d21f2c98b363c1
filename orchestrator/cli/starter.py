"""The task file that `orchestrate init` writes."""

from __future__ import annotations

__all__ = ["STARTER"]

STARTER = """\
# A task for `orchestrate run`. Only `objective` is required.
# `orchestrate check FILE` says what it would do and cost, and spends nothing.

# What is wanted, and how it will be used.
objective: >
  Describe what this folder holds and how its parts fit together,
  for someone who starts working on it tomorrow.

# Hints for what the subagents look into.
questions:
  - What are the main parts, and what does each of them do?
  - Where does one start reading?

# What agents may see. Relative to this file; default: this file's folder.
workspace: .

# Kept word for word for every agent.
constraints: []
#  - Leave everything under secrets/ unopened.

# Small files that every agent has from the start. AGENTS.md or CLAUDE.md of the
# workspace is included unless this is `context: []`.
# context:
#   - README.md

deliverable:
  format: markdown          # or json, with `schema:` (a JSON Schema)
  max_tokens: 4000

# Without `model`: the default models if there are credentials, else `offline`, which
# needs no key and no network.
# model: claude-sonnet-5-5
# model: {lead: claude-sonnet-5-5, subagents: claude-haiku-5-5}

# Profiles that the lead may use; `orchestrate agents` lists them.
agents: [explorer]

# What agents may do beyond reading: write, shell, network, secrets; `ask` asks you.
# allow: [write, {shell: ask}]
# tools: [my_tools:look_up]                     # Python functions of your own
# mcp_servers: {git: {command: mcp-server-git}}
# skills: [skills/my-skill]                     # folders with SKILL.md
# redact: [secrets, personal]                   # phone numbers, addresses, cards, too

# How contexts are kept small; `orchestrate check` shows the numbers in force.
# context_policy: {preset: long}      # or short, dialogue; see docs/context.md

# What the run may use. The rest has defaults; `orchestrate schema` names them all.
limits:
  minutes: 30
  subagents: 24
  # usd: 2.0
"""
