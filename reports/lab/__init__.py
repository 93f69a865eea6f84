"""Laboratory: a local web page that simulates while sliders move. Only its server and its layout import Dash.

It simulates, imports and loads by the public functions of lsmlab, as any program would.

- server: the Flask and Dash application; safety: which requests it answers, headers of its responses.
- Form: fields (settings with limits, units and descriptions, from configuration and model), slider_steps (positions),
  choice (settings as overrides, command, YAML), layout (its components), form_callbacks.
- Work: work (tasks of worker processes), preview (short windows), process (one worker process), job_queue (tasks of
  all tabs), run_callbacks.
- Results: kept_runs (with uploads), kept_callbacks. Style and browser functions: assets.
"""
