"""Series: several recordings, one after another, by one command, since the device traces only one kind of TLP at a time.

The file ``NAME.series.json`` beside the recordings says which runs there are and how far each came. It is written before the first run
and again at each step, so it is true also after a kill.
"""
